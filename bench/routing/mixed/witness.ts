/** Sees every increment of a counter at the moment that it is made, and keeps those beyond the limit. */
import type { BenchDatabase } from '../../databases';

/** For a deployment with one quota policy. What is rolled back was never admitted, and leaves no trace. */
export async function watchAdmissions(database: BenchDatabase): Promise<void> {
  await database.run(`
    create schema witness;
    create table witness.overbooked (subject text not null, held integer not null, allowed integer);
    create function witness.quota() returns trigger language plpgsql security definer as $$
    declare
      v_limit integer := (select (to_jsonb(q) ->> (new.scope || '_limit'))::integer
        from waybill.quota_policies q);
    begin
      if new.held > v_limit then
        insert into witness.overbooked values (new.scope, new.held, v_limit);
      end if;
      return null;
    end $$;
    create trigger witness_taken after insert on waybill.quota_counters
      for each row execute function witness.quota();
    create trigger witness_held after update on waybill.quota_counters
      for each row when (new.held > old.held) execute function witness.quota();
    create function witness.replica() returns trigger language plpgsql security definer as $$
    begin
      insert into witness.overbooked values (new.replica_id, new.active_assignments, new.capacity);
      return null;
    end $$;
    create trigger witness_assigned after update on waybill.replicas for each row
      when (new.active_assignments > old.active_assignments
        and new.active_assignments > new.capacity)
      execute function witness.replica();
    grant usage on schema witness to public;
    grant execute on all functions in schema witness to public`);
}

export async function overAdmissions(database: BenchDatabase): Promise<number> {
  return (await database.counts('select count(*) as n from witness.overbooked'))['n'] ?? Number.NaN;
}
