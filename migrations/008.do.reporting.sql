-- Figures of the whole deployment are reported by one process at a time, which holds this lease. A
-- lock of a transaction could not tell who: its transaction would have to stay open between rounds.

create table waybill.figures_reporter (
  only_row boolean primary key default true check (only_row),
  -- null: nobody reports.
  reporter text,
  lease_ends_at timestamptz,
  check ((reporter is null) = (lease_ends_at is null))
);
insert into waybill.figures_reporter default values;

grant select, update on waybill.figures_reporter to waybill_operations;
-- Which attempts are open.
grant select on waybill.delivery_attempts to waybill_operations;
