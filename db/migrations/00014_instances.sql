-- The gateways that run turns. One lease each, on the database's clock, instead of one a turn: who renews it is alive, and so are his turns.

create table gateway.instances (
    -- Chosen by the instance and kept through its lives.
    id uuid primary key,
    -- Which life: each start has a higher one, the microseconds of its clock unless a higher one was here.
    epoch bigint not null,
    -- Its last word: four a second while turns run, one a second without.
    renewed_at timestamptz not null,
    -- The gateways' clock at its last word.
    clock interval not null,
    -- The gateways' clock when it was the first to come back from a time in which nobody could renew.
    returned_at interval
) with (fillfactor = 20);

revoke all on gateway.instances from anon, authenticated, coach_gateway;
alter table gateway.instances enable row level security;
grant select, insert, update, delete on gateway.instances to coach_gateway;
create policy instances_gateway on gateway.instances to coach_gateway using (true) with check (true);

-- How long an instance is believed to live after its last word, on the gateways' clock: death is noticed within 10 s.
create function gateway.lease() returns interval language sql immutable
    return interval '7 seconds';

-- After this long without a word from anybody the database is taken to have been away. Half a lease: who was cut off for less and needs as
-- long again to come back is still believed to live.
create function gateway.silence() returns interval language sql immutable
    return interval '3.5 seconds';

-- When the database was away everybody looks dead: so long after its return all are given time for theirs.
create function gateway.grace() returns interval language sql immutable
    return interval '15 seconds';

-- The gateways' clock: it goes while any of them renews, and stands still while nobody can. What it measures is for how long the database was
-- there, so the silence of an instance counts only while others could be heard, and no outage, however often it comes, begins the count anew.
-- A renewal in the future was written before the database's clock was set back, or by a primary whose clock was ahead: it says nothing about now
-- and counts as stale. What others write while this is asked is later by less than the tolerance.
create function gateway.read_clock(moment timestamptz) returns table (reading interval, stood_still boolean)
    language sql stable
begin atomic
    select coalesce(heard.clock, interval '0') + case
            when heard.last > moment - gateway.silence() then greatest(moment - heard.last, interval '0')
            else interval '0' end,
        coalesce(heard.last <= moment - gateway.silence(), true)
    from (
        select max(i.clock) as clock, max(i.renewed_at) filter (where i.renewed_at <= moment + interval '1 second') as last
        from gateway.instances i) as heard;
end;

-- Begins the life of an instance, unless a later one has begun; returns the life that holds. A process names its life itself, so that a
-- statement that was waiting in the database begins nothing anew: not when it was sent again meanwhile, and not when its process is dead.
create function gateway.register_instance(instance uuid, life bigint) returns bigint
    language plpgsql set search_path = '' as $$
declare
    moment constant timestamptz := clock_timestamp();
    now record;
    returned interval;
begin
    select * into now from gateway.read_clock(moment);
    -- Turns of others, and nobody who renewed: perhaps nobody could.
    if now.stood_still
        and exists (select from gateway.running_turns r where r.owner_instance is distinct from instance)
    then
        returned := now.reading;
    end if;
    insert into gateway.instances as i (id, epoch, renewed_at, clock, returned_at)
    values (instance, life, moment, now.reading, returned)
    on conflict (id) do update
        set epoch = excluded.epoch, renewed_at = moment, clock = now.reading, returned_at = coalesce(returned, i.returned_at)
        where i.epoch <= excluded.epoch;
    -- Who is gone for good. A turn without its owner's row is as dead as one whose owner has not renewed.
    delete from gateway.instances i where i.renewed_at < moment - interval '7 days';
    return (select i.epoch from gateway.instances i where i.id = instance);
end $$;

-- Renews the lease of a life of an instance, and returns those of its turns that somebody wants stopped. No row: a later life has begun, this
-- one must not go on. A statement of its own: whatever else is slow or refused, the instance is believed to live.
create function gateway.renew_lease(instance uuid, life bigint) returns table (stops uuid[])
    language plpgsql set search_path = '' set enable_seqscan = off as $$
declare
    moment constant timestamptz := clock_timestamp();
    now record;
begin
    select * into now from gateway.read_clock(moment);
    update gateway.instances i
    set renewed_at = moment, clock = now.reading,
        -- One instance that was slow is no outage: others were heard meanwhile.
        returned_at = case when now.stood_still then now.reading else i.returned_at end
    where i.id = instance and i.epoch = life;
    if not found then
        -- The row was lost: with a backup that was restored, for instance. Or an earlier life's last word came after that.
        insert into gateway.instances as i (id, epoch, renewed_at, clock, returned_at)
        values (instance, life, moment, now.reading, case when now.stood_still then now.reading end)
        on conflict (id) do update
            set epoch = excluded.epoch, renewed_at = moment, clock = now.reading, returned_at = excluded.returned_at
            where i.epoch < excluded.epoch;
        if not found then
            return;
        end if;
    end if;
    stops := array(
        select r.turn_id from gateway.running_turns r
        where r.owner_instance = instance and r.owner_epoch = life and r.stop_requested_at is not null);
    return next;
end $$;

-- Whether the life of an instance is over, as far as the asking one may judge. A later life of the same proves it at once. Otherwise it has
-- not renewed for a lease, while the asker does, and nobody has just come back; or, whatever came back meanwhile, not for the whole grace.
create function gateway.is_dead(owner uuid, owner_life bigint, asker uuid, asker_life bigint, moment timestamptz) returns boolean
    language plpgsql stable set search_path = '' as $$
begin
    return exists (select from gateway.instances i where i.id = owner and i.epoch > owner_life)
        or exists (
            select from gateway.instances i
            where i.id = asker and i.epoch = asker_life
                and i.renewed_at > moment - gateway.silence() and i.renewed_at <= moment + interval '1 second')
        and (
            select case
                when exists (select from gateway.instances i where i.returned_at > now.reading - gateway.grace())
                then said.clock <= now.reading - gateway.grace()
                else coalesce(said.clock <= now.reading - gateway.lease(), true) end
            from gateway.read_clock(moment) as now
            left join gateway.instances said on said.id = owner and said.epoch = owner_life) is true;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.lease(), gateway.silence(), gateway.grace(), gateway.read_clock(timestamptz),
    gateway.register_instance(uuid, bigint), gateway.renew_lease(uuid, bigint),
    gateway.is_dead(uuid, bigint, uuid, bigint, timestamptz)
    to coach_gateway;
