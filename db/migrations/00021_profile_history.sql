-- Versions of context profiles, kept by triggers: a client cannot choose a version, nor change a profile without leaving one. All are kept as long
-- as their user, at most 20,000: ten a day for five years, and 1 GB when each is as large as it may be.

-- The version that an undo made current again, so that the next undo goes further back; NULL: the version is an edit.
alter table public.context_profiles add column restores integer check (restores >= 0);
grant update (restores) on public.context_profiles to authenticated;

create table public.context_profile_history (
    user_id uuid not null references public.users (id) on delete cascade,
    version integer not null,
    values jsonb not null,
    goals jsonb not null,
    situation jsonb not null,
    -- When this version was written and replaced.
    written_at timestamptz not null,
    replaced_at timestamptz not null default now(),
    -- As in context_profiles.
    restores integer,
    primary key (user_id, version)
);

-- Row-local: reads and writes rows of the profile's own user. With its owner's rights: users read their history and
-- do not write it.
create function gateway.version_profile() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    if tg_op = 'INSERT' then
        new.version := 1 + coalesce(
            (select max(h.version) from public.context_profile_history h where h.user_id = new.user_id), 0);
        new.change := gateway.take_change(new.user_id);
        return new;
    end if;
    new.version := old.version;
    if (new."values", new.goals, new.situation) is distinct from (old."values", old.goals, old.situation) then
        new.version := old.version + 1;
        -- Versions have no gaps, so the number is their count.
        if new.version > 20000 then
            raise exception 'at most 20000 versions of a profile' using errcode = 'check_violation', constraint = 'context_profiles_quota';
        end if;
        new.change := gateway.take_change(new.user_id);
        -- An edit does not name it.
        if new.restores = old.restores then
            new.restores := null;
        end if;
        insert into public.context_profile_history (user_id, version, "values", goals, situation, restores, written_at)
        values (old.user_id, old.version, old."values", old.goals, old.situation, old.restores, old.updated_at);
    end if;
    return new;
end $$;
create trigger version before insert or update on public.context_profiles for each row execute function gateway.version_profile();

revoke all on public.context_profile_history from anon, authenticated, coach_gateway;
alter table public.context_profile_history enable row level security;
grant select on public.context_profile_history to authenticated;
create policy context_profile_history_owner on public.context_profile_history for select to authenticated
    using (user_id = (select auth.uid()));

revoke all on all functions in schema gateway from public, anon, authenticated;
