-- Keeping what routing has written: retention, tombstones, audit, recovery after a restore.
select 1;
