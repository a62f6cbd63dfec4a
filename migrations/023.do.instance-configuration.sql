-- Instances change their configuration by newer revisions only.
select 1;
