-- Numbers of persona changes, for clients that synchronise. Personas are many users' data, so their changes have one order for all users, beside
-- the order of each user's own changes (00019). A transaction that changes personas takes the next number and locks the counter until its commit,
-- so a reader who sees number n sees all changes with numbers up to n.

create table gateway.persona_counter (
    last_change bigint not null default 0,
    only_row boolean primary key default true check (only_row)
);
insert into gateway.persona_counter default values;

-- Personas whose rows are gone, for clients that have them. Not whose they were.
create table gateway.removed_personas (
    persona_id uuid primary key,
    change bigint not null,
    was_listed boolean not null
);
create index removed_personas_change on gateway.removed_personas (change, persona_id);

alter table public.coaching_personas add column change bigint not null default 0;
-- Whether all users could see it once: then they learn that it is gone.
alter table public.coaching_personas add column was_listed boolean not null default false;
create index coaching_personas_change on public.coaching_personas (change, id) where was_listed;
-- The number of the user's own changes at which they got access.
alter table public.persona_redemptions add column change bigint not null default 0;

-- Locks the counter and returns the next number. With its owner's rights: creators edit drafts behind PostgREST, too.
create function gateway.next_persona_change() returns bigint
    language sql security definer set search_path = ''
begin atomic
    update gateway.persona_counter c set last_change = c.last_change + 1 returning c.last_change;
end;

-- Locks the counter before any persona: two transactions that change several would wait for each other otherwise. Functions that lock a persona
-- first call next_persona_change before.
create function gateway.lock_persona_counter() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    perform from gateway.persona_counter for update;
    return null;
end $$;
create trigger lock_counter before insert or update or delete on public.coaching_personas for each statement
    execute function gateway.lock_persona_counter();

create function gateway.number_persona() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    new.change := gateway.next_persona_change();
    new.was_listed := new.was_listed or (new.status = 'published' and new.visibility = 'listed');
    return new;
end $$;
create trigger number_persona before insert or update on public.coaching_personas for each row execute function gateway.number_persona();

create function gateway.note_removed_persona() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    insert into gateway.removed_personas (persona_id, change, was_listed) values (old.id, gateway.next_persona_change(), old.was_listed)
    on conflict do nothing;
    return null;
end $$;
create trigger note_removed after delete on public.coaching_personas for each row execute function gateway.note_removed_persona();

-- Publishes the draft of a user's persona, unless their tier allows no more published personas; writes the audit log. `revision`: of the draft
-- that was validated; NULL: any.
-- `limits`: as gateway.take_request; `maxima`: published personas by the position of the tier there, NULL: no limit.
--   {outcome: published, version} | {outcome: not_found} | {outcome: withdrawn} | {outcome: stale}: there is another revision
--   {outcome: refused, reason: too_many_personas, limit, tier}
-- With its owner's rights: no role writes the log.
create function gateway.publish_within_tier(
    user_id uuid, persona_id uuid, revision integer, visibility text, limits jsonb, maxima integer[], request_id text) returns jsonb
    language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
    tier constant integer := (select tier_of from gateway.tier_of(user_id, limits, clock_timestamp()));
    maximum constant integer := maxima[tier + 1];
    former public.coaching_personas;
    version integer;
begin
    perform gateway.check_caller(user_id);
    perform from gateway.persona_counter for update;
    select p.* into former from public.coaching_personas p where p.id = $2 and p.user_id = $1 and p.deleted_at is null;
    if not found then
        return jsonb_build_object('outcome', 'not_found');
    elsif former.revision <> $3 then
        return jsonb_build_object('outcome', 'stale');
    elsif former.status = 'withdrawn' then
        return jsonb_build_object('outcome', 'withdrawn');
    end if;
    -- The counter's lock makes the count exact.
    if former.status <> 'published' and maximum <= (
        select count(*) from public.coaching_personas p where p.user_id = $1 and p.status = 'published' and p.deleted_at is null)
    then
        return jsonb_build_object(
            'outcome', 'refused', 'reason', 'too_many_personas', 'limit', maximum, 'tier', limits #>> array['tiers', tier::text, 'name'],
            'safety_level', 0);
    end if;
    version := gateway.publish_persona(user_id, persona_id, visibility);
    perform gateway.append_audit('persona.publish', 'persona/' || persona_id, former.published_version, version, null, request_id);
    return jsonb_build_object('outcome', 'published', 'version', version);
end $$;

-- As gateway.unpublish_persona, with a row in the audit log when it ends a publication.
create function gateway.end_publication(user_id uuid, persona_id uuid, expected bigint[], request_id text) returns boolean
    language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
    version constant integer := (
        select p.published_version from public.coaching_personas p where p.id = $2 and p.user_id = $1 and p.status = 'published');
begin
    perform gateway.check_caller(user_id);
    if not gateway.unpublish_persona(user_id, persona_id, expected) then
        return false;
    end if;
    if version is not null then
        perform gateway.append_audit('persona.unpublish', 'persona/' || persona_id, version, null, null, request_id);
    end if;
    return true;
end $$;

-- The persona changes that a user may know of, after a place in their order: own personas, listed ones, and those the user redeemed a link of.
-- `kind`: own (a draft of the user's), published (one that the user may use), removed.
create function gateway.persona_changes(user_id uuid, after_change bigint, after_id uuid, at_most integer)
    returns table (change bigint, id uuid, kind text)
    language plpgsql stable security definer set search_path = '' as $$
begin
    perform gateway.check_caller($1);
    return query
        with changed as (
            -- Each part has an index of its own, in the order of changes or by the user.
            (select p.id from public.coaching_personas p
            where p.was_listed and (p.change, p.id) > ($2, $3) order by p.change, p.id limit $4)
            union
            select p.id from public.coaching_personas p where p.user_id = $1 and (p.change, p.id) > ($2, $3)
            union
            select p.id from public.persona_redemptions r join public.coaching_personas p on p.id = r.persona_id
            where r.user_id = $1 and (p.change, p.id) > ($2, $3)
        )
        select c.change, c.id, c.kind from (
            (select p.change, p.id,
                case
                    when p.deleted_at is not null then 'removed'
                    when p.user_id = $1 then 'own'
                    when p.status = 'published' and (p.visibility = 'listed' or r.persona_id is not null) then 'published'
                    else 'removed'
                end as kind
            from changed
            join public.coaching_personas p on p.id = changed.id
            left join public.persona_redemptions r on r.user_id = $1 and r.persona_id = p.id
            order by p.change, p.id limit $4)
            union all
            (select g.change, g.persona_id, 'removed'
            from gateway.removed_personas g
            where (g.change, g.persona_id) > ($2, $3)
                and (g.was_listed or exists (
                    select from public.persona_redemptions r where r.user_id = $1 and r.persona_id = g.persona_id))
            order by g.change, g.persona_id limit $4)) c
        order by c.change, c.id limit $4;
end $$;

-- How a creator's persona was used in the last 30 days, previews excluded: {users, conversations, turns}, all NULL below 20 users, which would show what single
-- users do. NULL when the user has no such persona. From the rollups, with their owner's rights: they are of all users.
create function gateway.persona_stats(user_id uuid, persona_id uuid) returns jsonb
    language plpgsql stable security definer set search_path = '' as $$
declare
    minimum constant integer := 20;
    users bigint;
    conversations bigint;
    turns bigint;
begin
    perform gateway.check_caller(user_id);
    if not exists (select from public.coaching_personas p where p.id = $2 and p.user_id = $1 and p.deleted_at is null) then
        return null;
    end if;
    select count(distinct d.account_id), count(distinct d.conversation_id) into users, conversations
    from gateway.conversation_days d where d.persona_id = $2 and d.day > (now() at time zone 'UTC')::date - 30;
    select coalesce(sum(d.turns - d.preview_turns), 0) into turns
    from gateway.key_days d where d.key = 'persona_id' and d.persona_id = $2 and d.day > (now() at time zone 'UTC')::date - 30;
    if users < minimum then
        return jsonb_build_object('users', null, 'conversations', null, 'turns', null);
    end if;
    return jsonb_build_object('users', users, 'conversations', conversations, 'turns', turns);
end $$;

revoke all on gateway.persona_counter, gateway.removed_personas from anon, authenticated, coach_gateway;
alter table gateway.persona_counter enable row level security;
alter table gateway.removed_personas enable row level security;
grant select on gateway.persona_counter to coach_gateway;
create policy persona_counter_gateway_select on gateway.persona_counter for select to coach_gateway using (true);

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.publish_within_tier(uuid, uuid, integer, text, jsonb, integer[], text), gateway.end_publication(uuid, uuid, bigint[], text),
    gateway.persona_changes(uuid, bigint, uuid, integer), gateway.persona_stats(uuid, uuid)
    to coach_gateway;
