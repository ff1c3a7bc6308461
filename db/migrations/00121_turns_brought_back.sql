-- As in 00069, and turns of the caller's own epoch that began over five minutes ago. They had ended, and a failover or a backup brought them back: the owner
-- renews its lease as before, so nobody else would ever end them. The caller leaves out those that it runs or is saving; with the default limits none is as
-- old. Before that time it is not asked about them, because each comes with its text.
create or replace function gateway.orphaned_turns(instance uuid, epoch bigint, moment timestamptz, at_most integer, tried uuid[])
    returns setof gateway.running_turns
    language plpgsql stable rows 64 set search_path = '' set plan_cache_mode = force_generic_plan as $$
begin
    return query
        with owners as materialized (
            select distinct r.owner_instance as id, r.owner_epoch as epoch from gateway.running_turns r
        ),
        expired as materialized (
            select o.id, o.epoch from owners o where gateway.has_expired(o.id, o.epoch, instance, $2, moment)
        )
        select r.* from gateway.running_turns r
        where r.turn_id <> all (tried) and (
            exists (
                select from expired e where e.id is not distinct from r.owner_instance and e.epoch is not distinct from r.owner_epoch)
            or (r.owner_instance = instance and r.owner_epoch = $2 and (
                r.started_at < moment - interval '5 minutes'
                -- Begun by the caller, which did not learn of it: the result of begin_turn was lost, or came after the request's deadline. Turns
                -- that it runs have a checkpoint long before this.
                or (r.saved_at is null and r.started_at not between moment - interval '5 seconds' and moment + interval '1 second'))))
        order by r.started_at
        limit at_most;
end $$;
