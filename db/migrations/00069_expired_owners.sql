-- What every instance asks all the time costs less, mostly because plans are kept: orphans took 1.5 to 1.9 ms with 1,000 running turns, now 0.7.

-- Statements for no user read the whole table, so whether there is none is asked once a statement and not for each row.
alter policy running_turns_gateway on gateway.running_turns
    using ((select gateway.is_unbound()) or user_id = gateway.user_id())
    with check ((select gateway.is_unbound()) or user_id = gateway.user_id());

-- A plan that is kept, and never a bitmap of the index: it would read the entries of all rows that were removed since the last vacuum.
alter function gateway.checkpoint(uuid, bigint, jsonb, bigint, uuid[], integer[], integer[], integer[], integer[], bytea)
    set plan_cache_mode = force_generic_plan set enable_bitmapscan = off;

-- Turns of expired owners, as seen by the calling instance, oldest first and without those of `tried`. Apart from gateway.orphans, which reads what was
-- saved of them, because it is asked every second and mostly finds none.
create function gateway.orphaned_turns(instance uuid, epoch bigint, moment timestamptz, at_most integer, tried uuid[])
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
            -- Begun by the caller, which did not learn of it: the result of begin_turn was lost, or came after the request's deadline. Turns
            -- that it runs have a checkpoint long before this.
            or (r.owner_instance = instance and r.owner_epoch = $2 and r.saved_at is null
                and r.started_at not between moment - interval '5 seconds' and moment + interval '1 second'))
        order by r.started_at
        limit at_most;
end $$;

-- As before, apart from orphaned_turns: those turns with everything that was saved of them, oldest first:
--   [{user_id, turn, day, facts?, risk, persona_id, country, locale, content, provider?, model?, calls?, prompt_tokens, duration_ms}]
-- Without a checkpoint there are no facts, and the risk is that of the message. Sweeps about once a minute when called once a second.
create or replace function gateway.orphans(instance uuid, epoch bigint, at_most integer, tried uuid[]) returns jsonb
    language plpgsql set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    orphaned constant gateway.running_turns[] := array(
        select r from gateway.orphaned_turns(instance, $2, clock_timestamp(), at_most, tried) r);
begin
    if random() < 1.0 / 60 then
        perform gateway.sweep_checkpoints();
    end if;
    if cardinality(orphaned) = 0 then
        return '[]';
    end if;
    return (
        with orphan as materialized (
            select * from unnest(orphaned)
        ),
        released_text as materialized (
            select * from gateway.checkpointed_text((
                select array_agg((r.owner_instance, r.owner_epoch, r.turn_id, r.attempt, 0, null)::gateway.read_position) from orphan r))
        )
        select jsonb_agg(jsonb_build_object(
            'user_id', r.user_id,
            'turn', jsonb_build_object(
                'turn_id', r.turn_id, 'conversation_id', r.conversation_id, 'user_message_id', r.user_message_id,
                'message_id', r.message_id, 'attempt', r.attempt),
            'day', r.day,
            'facts', r.facts,
            'persona_id', r.persona_id,
            'risk', r.risk,
            'country', r.country,
            'locale', r.locale,
            'content', coalesce(released_text.content, ''),
            'provider', r.provider,
            'model', r.model,
            'calls', r.calls,
            'prompt_tokens', coalesce(r.prompt_tokens, 0),
            -- The clock may have been changed meanwhile.
            'duration_ms', least(
                extract(epoch from greatest(released_text.saved_at, r.saved_at, r.started_at) - r.started_at) * 1000, 2147483647)::integer
        ) order by r.started_at)
        from orphan r
        left join released_text on released_text.turn_id = r.turn_id);
end $$;

revoke all on function gateway.orphaned_turns(uuid, bigint, timestamptz, integer, uuid[]) from public, anon, authenticated;
grant execute on function gateway.orphaned_turns(uuid, bigint, timestamptz, integer, uuid[]) to coach_gateway;
