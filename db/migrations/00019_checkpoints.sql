-- Text of running turns, so that it survives a crash and other instances can stream it. No user reads it.

-- The text that an instance's turns released between two checkpoints: one row for all turns, because a row per turn costs ten times as much to
-- write and to remove. From time to time a turn repeats its whole text, so that older rows can be removed (see checkpoint).
create table gateway.checkpoints (
    instance uuid not null,
    epoch bigint not null,
    id bigint generated always as identity,
    saved_at timestamptz not null default clock_timestamp(),
    -- The pieces, column by column: UTF-8 bytes from..to of the answer of a turn's attempt are in `released_text` after `offset` bytes.
    turns uuid[] not null,
    attempts integer[] not null,
    from_bytes integer[] not null,
    to_bytes integer[] not null,
    offsets integer[] not null,
    released_text bytea not null,
    primary key (instance, epoch, id)
) with (vacuum_truncate = off, toast.vacuum_truncate = off);

-- Rows exist for seconds, too short for compression to pay; and a piece of an uncompressed value is read without the rest.
alter table gateway.checkpoints
    alter turns set storage external, alter attempts set storage external, alter from_bytes set storage external,
    alter to_bytes set storage external, alter offsets set storage external, alter released_text set storage external;

revoke all on gateway.checkpoints from anon, authenticated, coach_gateway;
alter table gateway.checkpoints enable row level security;
grant select, insert, update, delete on gateway.checkpoints to coach_gateway;
-- A checkpoint has text of many users, so it is not accessible to the gateway bound to one of them.
create policy checkpoints_gateway on gateway.checkpoints to coach_gateway
    using (gateway.is_unbound()) with check (gateway.is_unbound());

-- These tables are sometimes empty and sometimes large, so cached plans must not be those of an empty table: no sequential scans for key look-ups,
-- and a new plan at every call for joins of many rows.

-- Saves text of an instance's turns. Returns the checkpoint's id (NULL without text); no row when a later epoch of the instance exists. Safe to
-- repeat when the result was lost: of two pieces that begin at the same byte the longer one counts.
--
-- starts: [{user_id, conversation_id, turn_id, attempt, facts, prompt_tokens, provider?, model?, calls?}], turns to be saved for the first time, or whose
--         model or other calls have changed. Only turns of this epoch of the instance are taken.
-- needed_from: earlier checkpoints of this epoch are removed; each of its running turns was written whole since, or has ended.
-- turns, attempts, from_bytes, to_bytes, offsets, released_text: see the table.
create function gateway.checkpoint(
    instance uuid, epoch bigint, starts jsonb, needed_from bigint,
    turns uuid[], attempts integer[], from_bytes integer[], to_bytes integer[], offsets integer[], released_text bytea)
    returns table (id bigint)
    language plpgsql set search_path = '' set enable_seqscan = off as $$
begin
    if exists (select from gateway.instances i where i.id = instance and i.epoch > $2) then
        return;
    end if;
    if starts <> '[]' then
        update gateway.running_turns r
        set facts = s.facts, prompt_tokens = s.prompt_tokens, provider = s.provider, model = s.model, calls = s.calls,
            saved_at = clock_timestamp()
        from jsonb_to_recordset(starts) as s (
            user_id uuid, conversation_id uuid, turn_id uuid, attempt integer, facts jsonb, prompt_tokens bigint, provider text, model text,
            calls jsonb)
        where r.user_id = s.user_id and r.conversation_id = s.conversation_id and r.turn_id = s.turn_id and r.attempt = s.attempt
            and r.owner_instance = instance and r.owner_epoch = $2;
    end if;
    delete from gateway.checkpoints c where c.instance = $1 and c.epoch = $2 and c.id < needed_from;
    if cardinality(turns) > 0 then
        -- Invalid UTF-8 must fail here, not when it is read.
        perform convert_from(released_text, 'UTF8');
        insert into gateway.checkpoints as c (instance, epoch, turns, attempts, from_bytes, to_bytes, offsets, released_text)
        values ($1, $2, $5, $6, $7, $8, $9, $10)
        returning c.id into checkpoint.id;
    end if;
    return next;
end $$;

-- A read position: the text after a byte of an answer, from checkpoints after `seen`.
create type gateway.read_position as (instance uuid, epoch bigint, turn_id uuid, attempt integer, after_byte integer, seen bigint);

-- The saved text of attempts from the piece on that contains `after_byte`, and where that piece begins. It ends before a gap, which only a database
-- that lost its last transactions (a failover) can have.
create function gateway.checkpointed_text(positions gateway.read_position[])
    returns table (turn_id uuid, from_byte integer, content text, saved_at timestamptz)
    language sql stable set search_path = '' set enable_nestloop = off
    as $$
    with owner as materialized (
        select p.instance, p.epoch, min(coalesce(p.seen, 0)) as seen from unnest(positions) as p group by p.instance, p.epoch
    ), piece as (
        -- Of those that begin at the same byte the longest.
        select distinct on (p.turn_id, x.from_byte)
            p.turn_id, p.after_byte, x.from_byte, x.to_byte, x.at_byte, c.released_text, c.saved_at
        from owner o
        join gateway.checkpoints c on c.instance = o.instance and c.epoch = o.epoch and c.id > o.seen
        cross join lateral unnest(c.turns, c.attempts, c.from_bytes, c.to_bytes, c.offsets)
            as x (turn_id, attempt, from_byte, to_byte, at_byte)
        join unnest(positions) as p
            on p.turn_id = x.turn_id and p.attempt = x.attempt and p.instance = c.instance and p.epoch = c.epoch
        order by p.turn_id, x.from_byte, x.to_byte desc
    ), beginning as (
        select distinct on (b.turn_id) b.turn_id, b.from_byte, b.to_byte
        from piece b
        where b.from_byte <= b.after_byte
        order by b.turn_id, b.to_byte desc, b.from_byte desc
    ), link as (
        select n.*, lag(n.to_byte) over (partition by n.turn_id order by n.from_byte) <> n.from_byte as is_beyond_gap
        from piece n
        join beginning b on b.turn_id = n.turn_id and (n.from_byte >= b.to_byte or n.from_byte = b.from_byte)
    ), chain as (
        select c.*, coalesce(bool_or(c.is_beyond_gap) over (partition by c.turn_id order by c.from_byte), false) as is_cut from link c
    )
    select c.turn_id, min(c.from_byte),
        convert_from(string_agg(substring(c.released_text from c.at_byte + 1 for c.to_byte - c.from_byte), '' order by c.from_byte), 'UTF8'),
        max(c.saved_at)
    from chain c
    where not c.is_cut
    group by c.turn_id
$$;

-- Text of running turns of all instances: [{user_id, turn_id, after_byte, seen?}] in, for each that runs its attempt, its text from a piece on
-- that begins at or before the byte, and the newest checkpoint, to be `seen` the next time: none before it is searched again. A missing turn
-- has ended; its text is in messages.
create function gateway.tail(positions jsonb)
    returns table (turn_id uuid, attempt integer, from_byte integer, content text, seen bigint)
    language plpgsql stable set search_path = '' set plan_cache_mode = force_custom_plan as $$
begin
    return query
        with reader as materialized (
            select r.turn_id, r.attempt, r.owner_instance, r.owner_epoch, reader.after_byte, reader.seen
            from jsonb_to_recordset(positions) as reader (user_id uuid, turn_id uuid, after_byte integer, seen bigint)
            join gateway.running_turns r on r.user_id = reader.user_id and r.turn_id = reader.turn_id
        )
        select p.turn_id, p.attempt, released.from_byte, released.content,
            (select max(c.id) from gateway.checkpoints c where c.instance = p.owner_instance and c.epoch = p.owner_epoch)
        from reader p
        left join gateway.checkpointed_text((
            select array_agg((r.owner_instance, r.owner_epoch, r.turn_id, r.attempt, r.after_byte, r.seen)::gateway.read_position)
            from reader r)) as released on released.turn_id = p.turn_id;
end $$;

-- Removes text of ended attempts that their owner did not remove, because it crashed or a checkpoint was in flight at the end.
create function gateway.sweep_checkpoints() returns bigint
    language plpgsql set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    removed bigint;
begin
    delete from gateway.checkpoints c
    where not exists (select from gateway.running_turns r where r.owner_instance = c.instance and r.owner_epoch = c.epoch);
    get diagnostics removed = row_count;
    return removed;
end $$;

-- Turns of expired owners, as seen by the calling instance, oldest first and without those of `tried`, with everything that was saved of them:
--   [{user_id, turn, day, facts?, risk, persona_id, country, locale, content, provider?, model?, calls?, prompt_tokens, duration_ms}]
-- Without a checkpoint there are no facts, and the risk is that of the message. Sweeps about once a minute when called once a second.
create function gateway.orphans(instance uuid, epoch bigint, at_most integer, tried uuid[]) returns jsonb
    language plpgsql set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    moment constant timestamptz := clock_timestamp();
begin
    if random() < 1.0 / 60 then
        perform gateway.sweep_checkpoints();
    end if;
    return (
        with owners as materialized (
            select distinct r.owner_instance as id, r.owner_epoch as epoch from gateway.running_turns r
        ),
        expired as materialized (
            select o.id, o.epoch from owners o where gateway.has_expired(o.id, o.epoch, instance, $2, moment)
        ),
        orphan as (
            select r.* from gateway.running_turns r
            where r.turn_id <> all (tried) and (
                exists (
                    select from expired e where e.id is not distinct from r.owner_instance and e.epoch is not distinct from r.owner_epoch)
                -- Begun by the caller, which did not learn of it: the result of begin_turn was lost, or came after the request's deadline. Turns
                -- that it runs have a checkpoint long before this.
                or (r.owner_instance = instance and r.owner_epoch = $2 and r.saved_at is null
                    and r.started_at not between moment - interval '5 seconds' and moment + interval '1 second'))
            order by r.started_at
            limit at_most
        ),
        released_text as materialized (
            select * from gateway.checkpointed_text((
                select array_agg((r.owner_instance, r.owner_epoch, r.turn_id, r.attempt, 0, null)::gateway.read_position) from orphan r))
        )
        select coalesce(jsonb_agg(jsonb_build_object(
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
        ) order by r.started_at), '[]')
        from orphan r
        left join released_text on released_text.turn_id = r.turn_id);
end $$;

-- Asks the owner of a turn of the user to stop it. False when the user has no such turn; no effect on an ended turn.
create function gateway.request_stop(uid uuid, turn_id uuid) returns boolean
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
begin
    perform gateway.check_caller(uid);
    update gateway.running_turns r set stop_requested_at = clock_timestamp()
    where r.user_id = uid and r.turn_id = $2 and r.stop_requested_at is null;
    if found then
        perform pg_notify('coach_stop', $2::text);
        return true;
    end if;
    return exists (select from public.turns t where t.user_id = uid and t.id = $2);
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.checkpoint(uuid, bigint, jsonb, bigint, uuid[], integer[], integer[], integer[], integer[], bytea),
    gateway.checkpointed_text(gateway.read_position[]), gateway.tail(jsonb), gateway.orphans(uuid, bigint, integer, uuid[]),
    gateway.sweep_checkpoints(), gateway.request_stop(uuid, uuid)
    to coach_gateway;
