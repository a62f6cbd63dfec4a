-- The login users of Waybill's pools, one for each role. Run with psql after `waybill migrate`, which
-- creates the roles; run again at any time, for example to change a password:
--
--   psql -v data_password=… -v operations_password=… -v control_password=… \
--     -v lifecycle_password=… -f logins.sql
--
-- A login inherits exactly one role: two together would see the rows of both.
\set ON_ERROR_STOP on
-- Keeps the passwords out of a statement log.
set log_statement = 'none';

create temporary table wanted (login text primary key, role text not null, password text not null);
insert into wanted values
  ('waybill_data_login', 'waybill_data', :'data_password'),
  ('waybill_operations_login', 'waybill_operations', :'operations_password'),
  ('waybill_control_login', 'waybill_control', :'control_password'),
  ('waybill_lifecycle_login', 'waybill_lifecycle', :'lifecycle_password');

select format('create role %I login nosuperuser nobypassrls in role %I', login, role)
  from wanted where not exists (select from pg_roles where rolname = login)
\gexec
select format('alter role %I password %L', login, password) from wanted
\gexec
