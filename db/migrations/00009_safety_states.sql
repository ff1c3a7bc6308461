-- Safety state of a user: 0 calm, 1 concern, 2 crisis, 3 high. Per persona, because conversations with different personas are separate.

create table public.safety_states (
    user_id uuid not null references public.users (id) on delete cascade,
    -- gateway.no_persona(): the coach without a persona. A key for replication has no NULL.
    persona_id uuid not null default '00000000-0000-0000-0000-000000000000',
    level smallint not null check (level between 0 and 3),
    -- When danger was last found in a message.
    raised_at timestamptz not null,
    primary key (user_id, persona_id)
);

revoke all on public.safety_states from anon, authenticated, coach_gateway;
alter table public.safety_states enable row level security;
grant select on public.safety_states to authenticated;
grant select, insert, update on public.safety_states to coach_gateway;
create policy safety_states_owner_select on public.safety_states for select to authenticated using (user_id = (select auth.uid()));
create policy safety_states_gateway on public.safety_states to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());

-- Stands in a key for the coach without a persona.
create function gateway.no_persona() returns uuid language sql immutable
    return '00000000-0000-0000-0000-000000000000'::uuid;

-- A stored level decays: after 24 hours at most 1, after 48 hours 0.
create function gateway.level_at(level smallint, raised_at timestamptz, moment timestamptz) returns integer
    language sql immutable
    return case
        when moment - raised_at >= interval '48 hours' then 0
        when moment - raised_at >= interval '24 hours' then least(level, 1)
        else level
    end;

-- The level that a tier of danger raises to (tiers 3 and 4 are both `high`).
create function gateway.level_of_tier(tier integer) returns integer
    language sql immutable
    return least(tier, 3);

-- Raises the state of the user with a persona. A tier found in a message itself (`restarts_decay`) also restarts the decay. A late receipt's `moment`
-- may be before the stored one: then its level has decayed until that.
create function gateway.raise_safety(user_id uuid, persona_id uuid, tier integer, restarts_decay boolean, moment timestamptz) returns void
    language sql set search_path = '' as $$
    insert into public.safety_states as s (user_id, persona_id, level, raised_at)
    values ($1, coalesce($2, gateway.no_persona()), gateway.level_of_tier($3), $5)
    on conflict (user_id, persona_id) do update
        set level = greatest(
                gateway.level_at(s.level, s.raised_at, greatest(s.raised_at, $5)),
                gateway.level_at(excluded.level, $5, greatest(s.raised_at, $5))),
            raised_at = greatest(s.raised_at, $5)
        where $4 or excluded.level > gateway.level_at(s.level, s.raised_at, $5)
$$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.level_at(smallint, timestamptz, timestamptz), gateway.level_of_tier(integer), gateway.no_persona(),
    gateway.raise_safety(uuid, uuid, integer, boolean, timestamptz)
    to coach_gateway;
