-- Checkpoints over closed chains of receipts, so that a chain that is missing shows, and retention of receipts,
-- so that what was removed in time is told apart from what is lost. Whoever appends a receipt waits for none of it.

alter table waybill.receipts
  -- Its chain is closed with it; that of a delivery goes on where it is replayed.
  add column closes boolean not null generated always as (kind in
    ('acknowledged', 'failed', 'action_completed', 'action_failed', 'action_cancelled')) stored,
  -- The checkpoint in which its chain is written down up to here. null: none yet, or it does not close one.
  add column checkpoint_no integer;
create index receipts_to_checkpoint on waybill.receipts (tenant_id, subject, seq)
  where closes and checkpoint_no is null;

-- What a checkpoint's root is made of: how far each of its chains went.
create table waybill.checkpoint_leaves (
  tenant_id text not null,
  checkpoint_no integer not null,
  leaf_no integer not null check (leaf_no >= 0),
  subject text not null,
  seq integer not null,
  digest text not null,
  primary key (tenant_id, checkpoint_no, leaf_no),
  foreign key (tenant_id, checkpoint_no) references waybill.receipt_checkpoints on delete cascade
);

alter table waybill.settings
  -- In days, by what became of a delivery: its payload, its row; and receipts. tenants: what is another for one.
  add column retention jsonb not null default '{
    "acknowledgedPayloadDays": 14, "acknowledgedDays": 30, "failedPayloadDays": 90, "failedDays": 90,
    "deduplicatedDays": 14, "rejectedDays": 14, "receiptDays": 400, "tenants": {}}';

create function waybill.retention_days(p_tenant text, p_what text) returns integer language sql stable
  return (select coalesce(s.retention->'tenants'->p_tenant->>p_what, s.retention->>p_what)::integer
    from waybill.settings s);

-- The longest that receipts of any tenant are kept.
create function waybill.longest_receipt_days(s waybill.settings) returns integer language sql stable
  return greatest((s.retention->>'receiptDays')::integer, (select max((t.value->>'receiptDays')::integer)
    from jsonb_each(s.retention->'tenants') t));

-- Tenants after p_after that have receipts or checkpoints, in order.
create function waybill.receipt_tenants(p_after text, p_limit integer) returns setof text
  language plpgsql stable as $$
declare
  v_tenant text := p_after;
begin
  for i in 1..p_limit loop
    -- From one tenant to the next, whatever each has.
    v_tenant := (select min(n.tenant_id) from (
      (select r.tenant_id from waybill.receipts r where r.tenant_id > v_tenant order by r.tenant_id limit 1)
      union all
      (select c.tenant_id from waybill.receipt_checkpoints c where c.tenant_id > v_tenant
        order by c.tenant_id limit 1)) n);
    exit when v_tenant is null;
    return next v_tenant;
  end loop;
end
$$;

-- Of the caller's own snapshot: a number that is newer than the chains that were read would put these into two.
create function waybill.next_checkpoint(p_tenant text) returns jsonb language sql stable
  return (select jsonb_build_object('no', coalesce(h.checkpoint_no, 0) + 1, 'previousDigest', h.digest,
      'now', clock_timestamp())
    from (select) one left join lateral (select c.checkpoint_no, c.digest from waybill.receipt_checkpoints c
      where c.tenant_id = p_tenant order by c.checkpoint_no desc limit 1) h on true);

-- The head of the tenant's checkpoints, and up to p_limit closed chains that none has yet:
-- {no: of the next one, previousDigest, now, leaves: [{subject, seq, digest}]}.
create function waybill.chains_to_checkpoint(p_tenant text, p_limit integer) returns jsonb
  language sql volatile
begin atomic
  select waybill.next_checkpoint(p_tenant) || jsonb_build_object('leaves',
    (select coalesce(jsonb_agg(jsonb_build_object('subject', l.subject, 'seq', l.seq, 'digest', l.digest)
        order by l.subject), '[]') from (
      select distinct on (r.subject) r.subject, r.seq, r.digest from waybill.receipts r
        where r.tenant_id = p_tenant and r.closes and r.checkpoint_no is null
        order by r.subject, r.seq desc limit p_limit) l));
end;

-- Appends a checkpoint over these chains: {no, jws, digest}. false: another one was appended meanwhile.
create function waybill.append_checkpoint(p_tenant text, p_checkpoint jsonb, p_leaves jsonb) returns boolean
  language plpgsql as $$
declare
  v_no integer := (p_checkpoint->>'no')::integer;
begin
  insert into waybill.receipt_checkpoints (tenant_id, checkpoint_no, kind, jws, digest)
    values (p_tenant, v_no, 'chains', p_checkpoint->>'jws', p_checkpoint->>'digest')
    on conflict do nothing;
  if not found then return false; end if;
  insert into waybill.checkpoint_leaves (tenant_id, checkpoint_no, leaf_no, subject, seq, digest)
    select p_tenant, v_no, l.ordinality - 1, l.leaf->>'subject', (l.leaf->>'seq')::integer, l.leaf->>'digest'
      from jsonb_array_elements(p_leaves) with ordinality l (leaf, ordinality);
  update waybill.receipts r set checkpoint_no = v_no from waybill.checkpoint_leaves l
    where l.tenant_id = p_tenant and l.checkpoint_no = v_no
      and r.tenant_id = p_tenant and r.subject = l.subject and r.seq <= l.seq
      and r.closes and r.checkpoint_no is null;
  return true;
end
$$;

-- Whether what the chain is about is still there. A receipt outlives it, and never goes before.
create function waybill.subject_exists(p_tenant text, p_subject text) returns boolean language sql stable
  return case when p_subject like 'delivery/%'
    then exists (select from waybill.deliveries d where d.tenant_id = p_tenant
      and d.delivery_id = substr(p_subject, 10)::uuid)
    else exists (select from waybill.actions a where a.tenant_id = p_tenant
      and a.action_id = substr(p_subject, 8)) end;

-- The chains that end with the checkpoints up to p_through: those that have gone on since are in a later one, too.
create function waybill.chains_ending(p_tenant text, p_through integer) returns setof text
  language sql stable
begin atomic
  select distinct l.subject from waybill.checkpoint_leaves l
    where l.tenant_id = p_tenant and l.checkpoint_no <= p_through
      and not exists (select from waybill.receipts n where n.tenant_id = p_tenant
        and n.subject = l.subject and n.seq > l.seq);
end;

-- Up to which checkpoint, at most p_limit of them, everything may go, counted from the oldest one: it is older than
-- receipts are kept, and what its chains are about is gone. {through, throughDigest, no, previousDigest, now}; null:
-- nothing is to be removed.
create function waybill.receipts_to_prune(p_tenant text, p_limit integer) returns jsonb
  language plpgsql volatile as $$
declare
  c record;
  -- Before anything else is read: what is appended from now on makes the removal come too late.
  v_head jsonb := waybill.next_checkpoint(p_tenant);
  v_through integer;
  v_digest text;
  v_chains boolean := false;
begin
  for c in select k.checkpoint_no, k.digest, k.kind from waybill.receipt_checkpoints k
    where k.tenant_id = p_tenant and k.created_at
      < clock_timestamp() - make_interval(days => waybill.retention_days(p_tenant, 'receiptDays'))
    order by k.checkpoint_no limit p_limit
  loop
    exit when exists (select from waybill.chains_ending(p_tenant, c.checkpoint_no) s
      where waybill.subject_exists(p_tenant, s));
    v_through := c.checkpoint_no;
    v_digest := c.digest;
    v_chains := v_chains or c.kind = 'chains';
  end loop;
  if not v_chains then return null; end if;
  return v_head || jsonb_build_object('through', v_through, 'throughDigest', v_digest);
end
$$;

-- Removes these checkpoints with their chains, and appends the one that says so: {no, jws, digest}. Answers how many
-- receipts went; null: another checkpoint was appended meanwhile, and nothing was removed.
create function waybill.prune_receipts(p_tenant text, p_through integer, p_checkpoint jsonb) returns integer
  language plpgsql as $$
declare
  v_gone integer;
begin
  insert into waybill.receipt_checkpoints (tenant_id, checkpoint_no, kind, jws, digest)
    values (p_tenant, (p_checkpoint->>'no')::integer, 'pruned', p_checkpoint->>'jws', p_checkpoint->>'digest')
    on conflict do nothing;
  if not found then return null; end if;
  delete from waybill.receipts r using waybill.chains_ending(p_tenant, p_through) s
    where r.tenant_id = p_tenant and r.subject = s;
  get diagnostics v_gone = row_count;
  delete from waybill.receipt_checkpoints c where c.tenant_id = p_tenant and c.checkpoint_no <= p_through;
  return v_gone;
end
$$;

alter table waybill.checkpoint_leaves enable row level security;
create policy one_tenant on waybill.checkpoint_leaves to waybill_data, waybill_observer
  using (tenant_id = waybill.current_tenant());
create policy across_tenants on waybill.checkpoint_leaves to waybill_operations using (true);
grant select on waybill.checkpoint_leaves, waybill.receipt_checkpoints to waybill_data;
grant select on waybill.checkpoint_leaves to waybill_observer;
grant select, insert, delete on waybill.checkpoint_leaves, waybill.receipt_checkpoints to waybill_operations;
grant select, delete, update (checkpoint_no) on waybill.receipts to waybill_operations;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function
  waybill.retention_days(text, text),
  waybill.longest_receipt_days(waybill.settings),
  waybill.receipt_tenants(text, integer),
  waybill.next_checkpoint(text),
  waybill.chains_to_checkpoint(text, integer),
  waybill.append_checkpoint(text, jsonb, jsonb),
  waybill.subject_exists(text, text),
  waybill.chains_ending(text, integer),
  waybill.receipts_to_prune(text, integer),
  waybill.prune_receipts(text, integer, jsonb)
  to waybill_operations;
