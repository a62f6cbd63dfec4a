-- Reading actions and routes: people and programs list them by what they look for, newest first, also
-- where a tenant has very many. One index for each question, so that a page reads no more than it shows.

create index actions_by_state on waybill.actions (tenant_id, state, created_at desc, action_id desc);
create index actions_by_capability on waybill.actions
  (tenant_id, capability_id, created_at desc, action_id desc);
-- Those that somebody may have to look at are few.
create index actions_for_people on waybill.actions (tenant_id, created_at desc, action_id desc)
  where waiting_since is not null or state = 'needs_operator';

create index routes_by_time on waybill.routes (tenant_id, assigned_at desc, action_id desc);
create index routes_by_instance on waybill.routes
  (tenant_id, instance_id, assigned_at desc, action_id desc);
create index routes_by_replica on waybill.routes
  (tenant_id, replica_id, assigned_at desc, action_id desc);

-- By code unit, which the primary key is not: it would lead through the replicas of all tenants. Of what
-- changes by itself only the status is in an index, since it changes seldom.
create index replicas_by_tenant on waybill.replicas (tenant_id, replica_id collate "C");
create index replicas_by_status on waybill.replicas (tenant_id, status, replica_id collate "C");
