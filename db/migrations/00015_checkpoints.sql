-- What running turns have said so far, so that it survives their gateway and can be followed on another. No user reads it.

-- What is known of a running attempt; swept away after its end, many at once, which costs a tenth of removing each as it ends.
create table gateway.turn_progress (
    user_id uuid not null,
    turn_id uuid not null,
    attempt integer not null,
    -- What was decided before the model was called: {domain, persona_id, model, risk, country, locale}.
    facts jsonb not null,
    -- Estimated.
    prompt_tokens integer not null,
    -- Who accepted the call; NULL: nobody yet, so nothing can have been billed.
    provider text,
    model text,
    saved_at timestamptz not null default clock_timestamp(),
    primary key (user_id, turn_id, attempt)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- What the turns of one life of an instance have said between two checkpoints: one row for all of them, because a row for each costs ten times
-- as much, to write and to remove. From time to time a turn says all again from its beginning, so that older rows can go (see checkpoint).
create table gateway.checkpoints (
    instance uuid not null,
    epoch bigint not null,
    id bigint generated always as identity,
    saved_at timestamptz not null default clock_timestamp(),
    -- The pieces, column by column: UTF-8 bytes from..to of the answer of a turn's attempt stand in `said` after `offset` bytes.
    turns uuid[] not null,
    attempts integer[] not null,
    from_bytes integer[] not null,
    to_bytes integer[] not null,
    offsets integer[] not null,
    said bytea not null,
    primary key (instance, epoch, id)
) with (vacuum_truncate = off, toast.vacuum_truncate = off);

-- Rows live for seconds, which is too short to be worth compressing, and a piece is cut from what is not compressed without reading the rest.
alter table gateway.checkpoints
    alter turns set storage external, alter attempts set storage external, alter from_bytes set storage external,
    alter to_bytes set storage external, alter offsets set storage external, alter said set storage external;

revoke all on gateway.turn_progress, gateway.checkpoints from anon, authenticated, coach_gateway;
alter table gateway.turn_progress enable row level security;
alter table gateway.checkpoints enable row level security;
grant select, insert, update, delete on gateway.turn_progress, gateway.checkpoints to coach_gateway;
-- At work for a user the gateway sees his rows; without anybody's claims it saves and reads those of all.
create policy turn_progress_gateway on gateway.turn_progress to coach_gateway
    using (user_id = gateway.user_id() or gateway.is_unbound()) with check (user_id = gateway.user_id() or gateway.is_unbound());
-- A checkpoint is of many users, so nobody's at work for one of them.
create policy checkpoints_gateway on gateway.checkpoints to coach_gateway
    using (gateway.is_unbound()) with check (gateway.is_unbound());

-- These tables are empty at times and large at others, so a plan that is kept must not be one for an empty table: no sequential scans where
-- a key is looked up, and a new plan at every call where many rows meet.

-- Renews the lease of an instance and saves what its turns have said. Returns the checkpoint's id (NULL without text) and those of its turns
-- that somebody wants stopped; no row when a later life of the instance has begun. Repeating a call whose answer was lost is safe: of two
-- pieces that begin at the same byte the longer counts. What turns say that have ended meanwhile goes with the checkpoint.
--
-- starts: [{user_id, turn_id, attempt, facts, prompt_tokens, provider?, model?}], turns to be saved for the first time, or whose first text
--         says who answers. Only turns that this life of the instance runs are taken.
-- needed_from: earlier checkpoints of this life are removed; each of its running turns has said all again since, or has ended.
-- turns, attempts, from_bytes, to_bytes, offsets, said: see the table.
create function gateway.checkpoint(
    instance uuid, life bigint, starts jsonb, needed_from bigint,
    turns uuid[], attempts integer[], from_bytes integer[], to_bytes integer[], offsets integer[], said bytea)
    returns table (id bigint, stops uuid[])
    language plpgsql set search_path = '' set enable_seqscan = off set jit = off as $$
begin
    if not gateway.renew_lease(instance, life) then
        return;
    end if;
    if starts <> '[]' then
        insert into gateway.turn_progress as p (user_id, turn_id, attempt, facts, prompt_tokens, provider, model)
        select s.user_id, s.turn_id, s.attempt, s.facts, s.prompt_tokens, s.provider, s.model
        from jsonb_to_recordset(starts) as s (
            user_id uuid, turn_id uuid, attempt integer, facts jsonb, prompt_tokens integer, provider text, model text)
        join gateway.watched_turns t on t.user_id = s.user_id and t.id = s.turn_id and t.attempt = s.attempt
        where t.status = 'running' and t.owner_instance = instance and t.owner_epoch = life
        on conflict on constraint turn_progress_pkey do update
            set provider = excluded.provider, model = excluded.model, saved_at = excluded.saved_at;
    end if;
    delete from gateway.checkpoints c where c.instance = $1 and c.epoch = life and c.id < needed_from;
    if cardinality(turns) > 0 then
        -- What is no text must be refused here, not when it is needed.
        perform convert_from(said, 'UTF8');
        insert into gateway.checkpoints as c (instance, epoch, turns, attempts, from_bytes, to_bytes, offsets, said)
        values ($1, life, $5, $6, $7, $8, $9, $10)
        returning c.id into checkpoint.id;
    end if;
    stops := array(
        select t.id from gateway.watched_turns t
        where t.owner_instance = $1 and t.owner_epoch = life and t.status = 'running' and t.stop_requested_at is not null);
    return next;
end $$;

-- A byte of an answer: what was said after it is wanted, from checkpoints after `seen`.
create type gateway.place as (instance uuid, epoch bigint, turn_id uuid, attempt integer, after_byte integer, seen bigint);

-- What is saved of attempts from a piece on that begins at or before `after_byte`, and where that piece begins. It ends before a gap, which
-- only a database that lost its last transactions (a failover) can have.
create function gateway.said(places gateway.place[])
    returns table (turn_id uuid, from_byte integer, content text, saved_at timestamptz)
    language sql stable set search_path = '' set enable_nestloop = off set jit = off
    as $$
    with life as materialized (
        select p.instance, p.epoch, min(coalesce(p.seen, 0)) as seen from unnest(places) as p group by p.instance, p.epoch
    ), piece as (
        -- Of those that begin at the same byte the longest.
        select distinct on (p.turn_id, x.from_byte)
            p.turn_id, p.after_byte, x.from_byte, x.to_byte, x.at_byte, c.said, c.saved_at
        from life l
        join gateway.checkpoints c on c.instance = l.instance and c.epoch = l.epoch and c.id > l.seen
        cross join lateral unnest(c.turns, c.attempts, c.from_bytes, c.to_bytes, c.offsets)
            as x (turn_id, attempt, from_byte, to_byte, at_byte)
        join unnest(places) as p
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
        convert_from(string_agg(substring(c.said from c.at_byte + 1 for c.to_byte - c.from_byte), '' order by c.from_byte), 'UTF8'),
        max(c.saved_at)
    from chain c
    where not c.is_cut
    group by c.turn_id
$$;

-- What turns that run anywhere have said: [{user_id, turn_id, after_byte, seen?}] in, for each that still exists its attempt and state, its
-- text from a piece on that begins at or before the byte, and the newest checkpoint, to be `seen` the next time: none before it is searched
-- again. Text of an attempt that has ended is in messages.
create function gateway.tail(places jsonb)
    returns table (turn_id uuid, attempt integer, running boolean, from_byte integer, content text, seen bigint)
    language plpgsql stable set search_path = '' set plan_cache_mode = force_custom_plan as $$
begin
    return query
        with place as materialized (
            select t.id, t.attempt, t.status = 'running' as is_running, t.owner_instance, t.owner_epoch, place.after_byte, place.seen
            from jsonb_to_recordset(places) as place (user_id uuid, turn_id uuid, after_byte integer, seen bigint)
            join gateway.watched_turns t on t.user_id = place.user_id and t.id = place.turn_id
        )
        select p.id, p.attempt, p.is_running, said.from_byte, said.content,
            (select max(c.id) from gateway.checkpoints c where c.instance = p.owner_instance and c.epoch = p.owner_epoch)
        from place p
        left join gateway.said((
            select array_agg((r.owner_instance, r.owner_epoch, r.id, r.attempt, r.after_byte, r.seen)::gateway.place)
            from place r where r.is_running)) as said on said.turn_id = p.id;
end $$;

-- Removes what was saved of attempts that have ended: what was known of them, and text where their owner did not remove it, because he died or
-- his checkpoint was on its way at the end.
create function gateway.sweep_checkpoints() returns bigint
    language plpgsql set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    removed bigint;
begin
    delete from gateway.checkpoints c
    where not exists (
        select from gateway.watched_turns t where t.owner_instance = c.instance and t.owner_epoch = c.epoch and t.status = 'running');
    get diagnostics removed = row_count;
    delete from gateway.turn_progress p
    where not exists (
        select from gateway.watched_turns t
        where t.user_id = p.user_id and t.id = p.turn_id and t.attempt = p.attempt and t.status = 'running');
    return removed;
end $$;

-- Turns whose owner is dead as far as the asking instance may judge, the oldest first, with all that was saved of them:
--   [{user_id, turn, facts?, risk, persona_id, country, locale, content, provider?, model?, prompt_tokens, duration_ms}]
-- Without a checkpoint there are no facts, and the risk is what the message itself said. Sweeps about once a minute, asked once a second.
create function gateway.orphans(instance uuid, life bigint, at_most integer) returns jsonb
    language plpgsql set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    moment constant timestamptz := clock_timestamp();
begin
    if random() < 1.0 / 60 then
        perform gateway.sweep_checkpoints();
    end if;
    return (
        with owners as materialized (
            select distinct t.owner_instance as id, t.owner_epoch as epoch from gateway.watched_turns t where t.status = 'running'
        ),
        dead as materialized (
            select o.id, o.epoch from owners o where gateway.is_dead(o.id, o.epoch, instance, life, moment)
        ),
        orphan as (
            select t.* from gateway.watched_turns t
            where t.status = 'running'
                and (
                    exists (select from dead d where d.id is not distinct from t.owner_instance and d.epoch is not distinct from t.owner_epoch)
                    -- Begun in the asker's name, but he never heard of it: the answer of begin_turn was lost on the way, or came after
                    -- he had given up. What he runs has a checkpoint long before this.
                    or (t.owner_instance = instance and t.owner_epoch = life and t.started_at < moment - interval '5 seconds'
                        and not exists (
                            select from gateway.turn_progress p
                            where p.user_id = t.user_id and p.turn_id = t.id and p.attempt = t.attempt)))
            order by t.started_at
            limit at_most
        ),
        said as materialized (
            select * from gateway.said((
                select array_agg((t.owner_instance, t.owner_epoch, t.id, t.attempt, 0, null)::gateway.place) from orphan t))
        )
        select coalesce(jsonb_agg(jsonb_build_object(
            'user_id', t.user_id,
            'turn', jsonb_build_object(
                'turn_id', t.id, 'conversation_id', t.conversation_id, 'user_message_id', t.user_message_id,
                'message_id', t.message_id, 'attempt', t.attempt),
            'facts', p.facts,
            'persona_id', t.persona_id,
            'risk', jsonb_build_object(
                'tier', t.risk_tier, 'categories', t.risk_categories, 'subject', t.risk_subject, 'patterns', t.risk_patterns),
            'country', t.country,
            'locale', t.locale,
            'content', coalesce(said.content, ''),
            'provider', p.provider,
            'model', p.model,
            'prompt_tokens', coalesce(p.prompt_tokens, 0),
            'duration_ms', (extract(epoch from greatest(said.saved_at, p.saved_at, t.started_at) - t.started_at) * 1000)::integer
        ) order by t.started_at), '[]')
        from orphan t
        left join gateway.turn_progress p on p.user_id = t.user_id and p.turn_id = t.id and p.attempt = t.attempt
        left join said on said.turn_id = t.id);
end $$;

-- Asks the owner of a turn of the caller to stop it, wherever it runs. False when the caller has no such turn; harmless when it has ended.
create function gateway.request_stop(turn_id uuid) returns boolean
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    uid constant uuid := gateway.user_id();
begin
    update public.turns t set stop_requested_at = clock_timestamp()
    where t.user_id = uid and t.id = $1 and t.status = 'running' and t.stop_requested_at is null;
    if found then
        perform pg_notify('coach_stop', $1::text);
        return true;
    end if;
    return exists (select from public.turns t where t.user_id = uid and t.id = $1);
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.checkpoint(uuid, bigint, jsonb, bigint, uuid[], integer[], integer[], integer[], integer[], bytea),
    gateway.said(gateway.place[]), gateway.tail(jsonb), gateway.orphans(uuid, bigint, integer),
    gateway.sweep_checkpoints(), gateway.request_stop(uuid)
    to coach_gateway;
