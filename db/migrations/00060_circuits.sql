-- The circuit breakers of all instances, for operators and for alerts.

-- In this order: the state over several instances is the greatest of theirs.
create type gateway.circuit_state as enum ('closed', 'half_open', 'open');

-- What each instance knows of a provider's model.
create table gateway.circuit_readings (
    instance uuid not null,
    provider text not null,
    model text not null,
    state gateway.circuit_state not null,
    at timestamptz not null default clock_timestamp(),
    primary key (instance, provider, model)
);

-- Notes the circuits of an instance, all at once; forgets those of models that it has no more and of instances that are long gone.
create function gateway.note_circuits(instance uuid, providers text[], models text[], states text[]) returns void
    language plpgsql security definer set search_path = '' as $$
begin
    delete from gateway.circuit_readings r
    where r.at < clock_timestamp() - interval '1 day'
        or r.instance = $1 and not exists (select from unnest(providers, models) as n (provider, model) where (n.provider, n.model) = (r.provider, r.model));
    insert into gateway.circuit_readings as r (instance, provider, model, state)
    select $1, n.provider, n.model, n.state::gateway.circuit_state from unnest(providers, models, states) as n (provider, model, state)
    on conflict on constraint circuit_readings_pkey do update set state = excluded.state, at = clock_timestamp();
end $$;

-- By provider and model: the state over all instances that live, of which a reading is at most a minute old, and how many of them do not have it closed.
create function gateway.circuits()
    returns table (provider text, model text, state gateway.circuit_state, instances bigint, open_instances bigint)
    language sql stable set search_path = ''
begin atomic
    select r.provider, r.model, max(r.state), count(*), count(*) filter (where r.state <> 'closed')
    from gateway.circuit_readings r where r.at > clock_timestamp() - interval '1 minute'
    group by r.provider, r.model order by r.provider, r.model;
end;

create function operator.provider_health()
    returns table (provider text, model text, breaker text, instances bigint, open_instances bigint)
    language plpgsql stable security definer set search_path = '' as $$
begin
    perform operator.require_operator();
    return query select c.provider, c.model, c.state::text, c.instances, c.open_instances from gateway.circuits() c;
end $$;

-- The present values of measures of alerts, with a window of an hour; NULL: there is nothing to measure.
create function operator.measures(names text[]) returns table (measure text, value double precision)
    language plpgsql stable security definer set search_path = '' as $$
begin
    perform operator.require_operator();
    return query select n.name, gateway.alert_value(n.name, interval '1 hour', 1) from unnest(names) with ordinality as n (name, place) order by n.place;
end $$;

revoke all on gateway.circuit_readings from public, anon, authenticated, coach_gateway;
alter table gateway.circuit_readings enable row level security;
revoke all on all functions in schema gateway, operator from public, anon, authenticated;
revoke all on function gateway.circuits() from coach_gateway;
grant execute on function
    gateway.note_circuits(uuid, text[], text[], text[]), operator.provider_health(), operator.measures(text[])
    to coach_gateway;
