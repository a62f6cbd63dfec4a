-- A delivery may go to an action: a second kind of target beside the call over HTTP.

-- Of kind action: {"capabilityId", "request": template or null, "affinity": {"from"} or null,
-- "timeoutMs"}.
alter table waybill.targets drop constraint targets_kind_check;
alter table waybill.targets add constraint targets_kind_check check (kind in ('http', 'action', 'workflow', 'event'));
