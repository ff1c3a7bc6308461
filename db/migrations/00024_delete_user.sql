-- Removing a user with everything of theirs, while their turns run and their token is still valid.

-- Who was removed, without saying who: a hash that only this database's key explains. It refuses the token that outlives the user.
create table gateway.tombstone_key (
    key bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()),
    only_row boolean primary key default true check (only_row)
);
insert into gateway.tombstone_key default values;

create table gateway.removed_users (
    user_hash bytea primary key,
    removed_at timestamptz not null default now()
);

create function gateway.user_hash(user_id uuid) returns bytea
    language plpgsql stable set search_path = '' as $$
begin
    -- HMAC (RFC 2104) matters where a text can be made longer; a UUID has one length.
    return (select sha256(k.key || uuid_send($1)) from gateway.tombstone_key k);
end $$;

-- Every removal of a user's row, by delete_user below or the cascade from Supabase's auth.users, leaves a tombstone, which prevents a new row. With
-- their owner's rights: no role reads or writes tombstones.
create function gateway.leave_tombstone() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    insert into gateway.removed_users (user_hash) values (gateway.user_hash(old.id)) on conflict do nothing;
    return null;
end $$;
create function gateway.refuse_removed_user() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    if exists (select from gateway.removed_users r where r.user_hash = gateway.user_hash(new.id)) then
        raise exception 'the user was removed' using errcode = 'foreign_key_violation', constraint = 'users_removed';
    end if;
    return new;
end $$;
create trigger tombstone after delete on public.users for each row execute function gateway.leave_tombstone();
create trigger refuse_removed before insert on public.users for each row execute function gateway.refuse_removed_user();

-- Those of some users whose removal was begun: what a gateway has in its memory about them is to be forgotten, too.
create function gateway.removed_among(users uuid[]) returns setof uuid
    language plpgsql stable security definer set search_path = '' as $$
begin
    if not gateway.is_unbound() then
        raise exception 'removed users are named without claims' using errcode = 'insufficient_privilege';
    end if;
    return query
        select u.id from unnest(users) as u (id) where gateway.user_hash(u.id) in (select r.user_hash from gateway.removed_users r);
end $$;

-- Suspends a user for removal and leaves the tombstone, once: no turn begins any more, and every token is refused.
-- With its owner's rights, as what follows.
create function gateway.refuse_user(user_id uuid) returns void
    language plpgsql security definer set search_path = '' as $$
begin
    if user_id is distinct from gateway.user_id() then
        raise exception 'request.jwt.claims do not name this user' using errcode = 'insufficient_privilege';
    end if;
    if exists (select from public.users u where u.id = $1 and u.suspended_reason is distinct from 'removal') then
        -- As begin_turn does, so that a turn which is beginning has begun, and is stopped below or by the next call.
        perform from public.rate_limits r where r.user_id = $1 for update;
        update public.users u set suspended_at = now(), suspended_reason = 'removal' where u.id = $1;
        insert into gateway.removed_users (user_hash) values (gateway.user_hash($1)) on conflict do nothing;
    end if;
end $$;

-- Removes a user in the background: refuses them at once and enqueues the job that calls delete_user until nothing is left. Harmless when repeated.
create function gateway.request_removal(user_id uuid) returns void
    language plpgsql set search_path = '' as $$
begin
    perform gateway.refuse_user(user_id);
    -- Without an idempotency key, which would outlive the user.
    if not exists (select from gateway.jobs j where j.user_id = $1 and j.kind = 'delete_user' and j.state = 'ready') then
        -- A removal is never given up: it is tried again, at most ten minutes later, until it succeeds.
        perform gateway.enqueue_job(user_id, 'delete_user', max_attempts => 2147483647);
    end if;
end $$;

-- Removes a user, a part at each call, each call a transaction of its own; to be called until it answers `removed`:
--   {outcome: stopping}   the user is refused (see above); turns still run, and their gateways were asked to stop them
--   {outcome: removing}   at most `at_most` rows of one table were removed, or one persona; there may be more
--   {outcome: removed}    nothing is left
--
-- Order of locks: a transaction here locks the user's counter, then their users row or conversations; or turns; or messages. It never waits for another
-- of these while it holds one that a turn function can want. Turns are removed when none runs; a late receipt then finds the turn or nothing.
-- With its owner's rights: the gateway's role can remove nothing of this otherwise.
create function gateway.delete_user(user_id uuid, at_most integer default 1000) returns jsonb
    language plpgsql security definer set search_path = '' as $$
declare
    running uuid;
    many text;
    removed integer;
begin
    perform gateway.refuse_user(user_id);

    update gateway.running_turns r set stop_requested_at = clock_timestamp() where r.user_id = $1 and r.stop_requested_at is null;
    for running in select r.turn_id from gateway.running_turns r where r.user_id = $1 loop
        perform pg_notify('coach_stop', running::text);
    end loop;
    if running is not null then
        return jsonb_build_object('outcome', 'stopping');
    end if;

    -- Tables of which a user may have many rows.
    foreach many in array array[
        'public.turns', 'public.messages', 'public.conversations', 'public.context_profile_history', 'public.consents', 'public.reports',
        'public.persona_redemptions', 'gateway.idempotent_requests', 'gateway.done_jobs']
    loop
        if many = 'public.conversations' then
            -- note_removal numbers each: the counter is locked before them, as by everyone who writes a conversation.
            perform from public.change_counters c where c.user_id = $1 for update;
        end if;
        execute format('delete from %1$s t where t.ctid in (select o.ctid from %1$s o where o.user_id = $1 limit $2)', many)
        using user_id, at_most;
        get diagnostics removed = row_count;
        if removed > 0 then
            return jsonb_build_object('outcome', 'removing');
        end if;
    end loop;
    -- One persona at a time, by cascade with its versions and links, which have quotas. The statement locks the order of all personas' changes
    -- (00050), also when it finds none.
    if exists (select from public.coaching_personas p where p.user_id = $1) then
        delete from public.coaching_personas p where p.id in (select o.id from public.coaching_personas o where o.user_id = $1 limit 1);
        return jsonb_build_object('outcome', 'removing');
    end if;
    -- The rest is few rows, most of them by cascade. The job that calls this removes itself.
    delete from gateway.jobs j where j.user_id = $1 and j.kind <> 'delete_user';
    perform gateway.forget_subscriber(user_id);
    delete from gateway.subscriptions s where s.user_id = $1;
    delete from gateway.user_entitlements e where e.user_id = $1;
    delete from public.users u where u.id = $1;
    return jsonb_build_object('outcome', 'removed');
end $$;

revoke all on gateway.tombstone_key, gateway.removed_users from anon, authenticated, coach_gateway;
alter table gateway.tombstone_key enable row level security;
alter table gateway.removed_users enable row level security;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.removed_among(uuid[]), gateway.refuse_user(uuid), gateway.request_removal(uuid), gateway.delete_user(uuid, integer) to coach_gateway;
