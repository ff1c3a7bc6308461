-- What a user may use, as the fold of their billing events left it (00029_billing.sql), and what they have used. Tiers and their limits are
-- configuration and come with each request.

alter table public.users
    add column suspended_at timestamptz,
    add column suspended_reason text;

-- No foreign key to the user: an event can arrive before its user exists, and then applies when they appear.
create table gateway.user_entitlements (
    user_id uuid not null,
    -- Empty for access without a named entitlement.
    entitlement text not null,
    -- Paid access and a trial are two rows, because they can give two tiers.
    is_trial boolean not null default false,
    -- Until when a gate lets the user through; `infinity` for access without end.
    access_until timestamptz not null,
    primary key (user_id, entitlement, is_trial)
);

-- One row per user, exact across all instances: counting locks it, which also serializes the beginnings of a user's turns.
create table public.rate_limits (
    user_id uuid primary key references public.users (id) on delete cascade,
    window_started_at timestamptz not null default 'epoch',
    requests integer not null default 0,
    -- UTC.
    day date not null default 'epoch',
    messages integer not null default 0,
    -- Model calls of the day beyond the ordinary limits, for a user in danger.
    crisis_calls integer not null default 0
) with (fillfactor = 50);

-- Tokens and cost of a user's turns of a day (UTC), and reserves of the running ones.
create table public.budgets (
    user_id uuid not null references public.users (id) on delete cascade,
    day date not null,
    spent_usd numeric(20, 9) not null default 0,
    reserved_usd numeric(20, 9) not null default 0,
    -- Input and output of all classes; those of calls with unknown usage are missing.
    tokens bigint not null default 0,
    reserved_tokens bigint not null default 0,
    -- Turns whose cost is unknown, so that spent_usd is a lower bound.
    unpriced_turns integer not null default 0,
    primary key (user_id, day)
) with (fillfactor = 70);

revoke all on gateway.user_entitlements, public.rate_limits, public.budgets from anon, authenticated, coach_gateway;
alter table gateway.user_entitlements enable row level security;
alter table public.rate_limits enable row level security;
alter table public.budgets enable row level security;
grant select on public.rate_limits, public.budgets to authenticated;
grant select, insert, update, delete on gateway.user_entitlements to coach_gateway;
grant select, insert, update on public.rate_limits, public.budgets to coach_gateway;

-- Written by webhooks, for no user at hand.
create policy user_entitlements_gateway on gateway.user_entitlements to coach_gateway
    using (gateway.is_unbound()) with check (gateway.is_unbound());
create policy user_entitlements_gateway_select on gateway.user_entitlements for select to coach_gateway using (user_id = gateway.user_id());
create policy rate_limits_owner_select on public.rate_limits for select to authenticated using (user_id = (select auth.uid()));
create policy rate_limits_gateway on public.rate_limits to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());
create policy budgets_owner_select on public.budgets for select to authenticated using (user_id = (select auth.uid()));
create policy budgets_gateway on public.budgets to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());
