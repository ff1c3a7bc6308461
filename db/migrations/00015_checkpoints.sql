-- What running turns have said so far, so that it survives their gateway and can be followed on another. Rows live as long as the attempt
-- runs; finish_turn removes them. No user reads them.

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

-- The answer in pieces, append-only: each begins where the one before ends.
create table gateway.turn_texts (
    user_id uuid not null,
    turn_id uuid not null,
    attempt integer not null,
    -- UTF-8 bytes of the answer before this piece.
    from_byte integer not null,
    content text not null,
    saved_at timestamptz not null default clock_timestamp(),
    primary key (user_id, turn_id, attempt, from_byte)
) with (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000);

revoke all on gateway.turn_progress, gateway.turn_texts from anon, authenticated, coach_gateway;
alter table gateway.turn_progress enable row level security;
alter table gateway.turn_texts enable row level security;
grant select, insert, update, delete on gateway.turn_progress, gateway.turn_texts to coach_gateway;
-- At work for a user the gateway sees his rows; without anybody's claims it saves and reads those of all.
create policy turn_progress_gateway on gateway.turn_progress to coach_gateway
    using (coalesce(user_id = (select auth.uid()), true)) with check (coalesce(user_id = (select auth.uid()), true));
create policy turn_texts_gateway on gateway.turn_texts to coach_gateway
    using (coalesce(user_id = (select auth.uid()), true)) with check (coalesce(user_id = (select auth.uid()), true));

-- These tables are empty at times and large at others, so a plan that is kept must not be one for an empty table: no sequential scans where
-- a key is looked up, and a new plan at every call where many rows meet.

-- Removes what was saved of an attempt and of those before it.
create function gateway.forget_progress(user_id uuid, turn_id uuid, attempt integer) returns void
    language plpgsql set search_path = '' set enable_seqscan = off as $$
begin
    delete from gateway.turn_texts x where x.user_id = $1 and x.turn_id = $2 and x.attempt <= $3;
    delete from gateway.turn_progress p where p.user_id = $1 and p.turn_id = $2 and p.attempt <= $3;
end $$;

-- Renews the lease of an instance and saves what its turns have said. Returns those of them that somebody wants stopped, NULL when a later
-- life of the instance has begun. Repeating a call whose answer was lost is safe: of two pieces that begin at the same byte the longer stays.
--
-- starts: [{user_id, turn_id, attempt, facts, prompt_tokens, provider?, model?}], turns to be saved for the first time, or whose first text
--         says who answers. Only turns that this life of the instance runs are taken.
-- users, turns, attempts, from_bytes, contents: the pieces, column by column. Those of turns that have ended meanwhile are left out.
create function gateway.checkpoint(
    instance uuid, life bigint, starts jsonb, users uuid[], turns uuid[], attempts integer[], from_bytes integer[], contents text[])
    returns uuid[]
    language plpgsql set search_path = '' set plan_cache_mode = force_custom_plan as $$
begin
    if not gateway.renew_lease(instance, life) then
        return null;
    end if;
    if starts <> '[]' then
        insert into gateway.turn_progress as p (user_id, turn_id, attempt, facts, prompt_tokens, provider, model)
        select s.user_id, s.turn_id, s.attempt, s.facts, s.prompt_tokens, s.provider, s.model
        from jsonb_to_recordset(starts) as s (
            user_id uuid, turn_id uuid, attempt integer, facts jsonb, prompt_tokens integer, provider text, model text)
        join public.turns t on t.user_id = s.user_id and t.id = s.turn_id and t.attempt = s.attempt
        where t.status = 'running' and t.owner_instance = instance and t.owner_epoch = life
        on conflict on constraint turn_progress_pkey do update
            set provider = excluded.provider, model = excluded.model, saved_at = excluded.saved_at;
    end if;
    if cardinality(turns) > 0 then
        insert into gateway.turn_texts as x (user_id, turn_id, attempt, from_byte, content)
        select said.user_id, said.turn_id, said.attempt, said.from_byte, said.content
        from unnest(users, turns, attempts, from_bytes, contents) as said (user_id, turn_id, attempt, from_byte, content)
        join gateway.turn_progress p
            on p.user_id = said.user_id and p.turn_id = said.turn_id and p.attempt = said.attempt
        on conflict on constraint turn_texts_pkey do update
            set content = excluded.content, saved_at = excluded.saved_at
            where octet_length(excluded.content) > octet_length(x.content);
    end if;
    return array(
        select t.id from public.turns t
        where t.owner_instance = instance and t.owner_epoch = life and t.status = 'running' and t.stop_requested_at is not null);
end $$;

-- What is saved of an attempt from the piece on that holds byte `after_byte`, and where that piece begins. It ends before a gap, which only
-- a database that lost its last transactions (a failover) can have.
create function gateway.said(user_id uuid, turn_id uuid, attempt integer, after_byte integer)
    returns table (from_byte integer, content text, saved_at timestamptz)
    language sql stable
begin atomic
    select min(piece.from_byte), string_agg(piece.content, '' order by piece.from_byte), max(piece.saved_at)
    from (
        select x.from_byte, x.content, x.saved_at, min(x.from_byte) over () as first_byte,
            x.from_byte - coalesce(sum(octet_length(x.content)) over (
                order by x.from_byte rows between unbounded preceding and 1 preceding), 0) as unbroken_since
        from gateway.turn_texts x
        where x.user_id = $1 and x.turn_id = $2 and x.attempt = $3
            -- `coalesce` stands inside: outside, row security keeps the comparison from using the index.
            and x.from_byte >= (
                select coalesce(max(y.from_byte), 0) from gateway.turn_texts y
                where y.user_id = $1 and y.turn_id = $2 and y.attempt = $3 and y.from_byte <= $4)
    ) piece
    where piece.unbroken_since = piece.first_byte;
end;

-- What turns that run anywhere have said: [{user_id, turn_id, after_byte}] in, for each that still exists its attempt and state, and its text
-- from the piece on that holds the byte. Text of an attempt that has ended is in messages.
create function gateway.tail(places jsonb) returns table (turn_id uuid, attempt integer, running boolean, from_byte integer, content text)
    language plpgsql stable set search_path = '' set plan_cache_mode = force_custom_plan as $$
begin
    return query
        select t.id, t.attempt, t.status = 'running', said.from_byte, said.content
        from jsonb_to_recordset(places) as place (user_id uuid, turn_id uuid, after_byte integer)
        join public.turns t on t.user_id = place.user_id and t.id = place.turn_id
        left join lateral gateway.said(t.user_id, t.id, t.attempt, place.after_byte) as said on t.status = 'running';
end $$;

-- Removes what was saved of attempts that have ended: a checkpoint that was on its way when finish_turn came leaves it behind.
create function gateway.sweep_checkpoints() returns bigint
    language plpgsql set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    removed bigint;
begin
    delete from gateway.turn_texts x
    where not exists (
        select from public.turns t
        where t.user_id = x.user_id and t.id = x.turn_id and t.attempt = x.attempt and t.status = 'running');
    get diagnostics removed = row_count;
    delete from gateway.turn_progress p
    where not exists (
        select from public.turns t
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
            select distinct t.owner_instance as id, t.owner_epoch as epoch from public.turns t where t.status = 'running'
        ),
        dead as materialized (
            select o.id, o.epoch from owners o where gateway.is_dead(o.id, o.epoch, instance, life, moment)
        ),
        orphan as (
            select t.* from public.turns t
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
            'content', case when said.from_byte = 0 then said.content else '' end,
            'provider', p.provider,
            'model', p.model,
            'prompt_tokens', coalesce(p.prompt_tokens, 0),
            'duration_ms', (extract(epoch from greatest(said.saved_at, p.saved_at, t.started_at) - t.started_at) * 1000)::integer
        ) order by t.started_at), '[]')
        from orphan t
        left join gateway.turn_progress p on p.user_id = t.user_id and p.turn_id = t.id and p.attempt = t.attempt
        left join lateral gateway.said(t.user_id, t.id, t.attempt, 0) as said on true);
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
    gateway.forget_progress(uuid, uuid, integer),
    gateway.checkpoint(uuid, bigint, jsonb, uuid[], uuid[], integer[], integer[], text[]),
    gateway.said(uuid, uuid, integer, integer), gateway.tail(jsonb), gateway.orphans(uuid, bigint, integer),
    gateway.sweep_checkpoints(), gateway.request_stop(uuid)
    to coach_gateway;
