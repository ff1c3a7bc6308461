-- Creators' personas. Others read a persona through the view of its public columns; only its creator reads the prompt texts.
--
-- A persona is a draft that its creator edits, and immutable published versions, which turns use. Personas are reference
-- data: all users read them, so a distributed database replicates these tables. They have no foreign key to a user's table, and users'
-- tables have none to them.

create table public.coaching_personas (
    id uuid primary key default gen_random_uuid(),
    -- The creator.
    user_id uuid not null default auth.uid(),
    slug text unique check (slug ~ '^[a-z0-9][a-z0-9-]{1,62}$'),
    -- The draft.
    name text not null check (char_length(name) between 1 and 80),
    description text check (char_length(description) <= 500),
    -- A string of enum coaching_domain, or null: the persona follows the router.
    domain jsonb check (octet_length(domain::text) <= 1000),
    -- Strings, lists or objects; gateway.prompt_text() makes one text of them.
    tone jsonb check (octet_length(tone::text) <= 16000),
    methodology jsonb check (octet_length(methodology::text) <= 16000),
    personality jsonb check (octet_length(personality::text) <= 16000),
    -- `published`: new conversations may begin with it. `unpublished`: they may not, and those that have it keep their version. `withdrawn`, by
    -- an operator: no turn uses it.
    status text not null default 'draft' check (status in ('draft', 'published', 'unpublished', 'withdrawn')),
    -- The newest row of persona_versions, with which new conversations begin while the status is `published`.
    published_version integer,
    published_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    deleted_at timestamptz,
    check (status = 'draft' or published_version is not null)
);

create trigger touch before update on public.coaching_personas for each row execute function gateway.touch_updated_at();

-- Published versions. Sizes were checked in the draft.
create table public.persona_versions (
    persona_id uuid not null references public.coaching_personas (id) on delete cascade,
    version integer not null,
    name text not null,
    description text,
    domain jsonb,
    tone jsonb,
    methodology jsonb,
    personality jsonb,
    created_at timestamptz not null default now(),
    primary key (persona_id, version)
);

-- Privileges and policies let only the tables' owner change a version; this also prevents a mistake in one of its functions.
create function gateway.refuse_update() returns trigger language plpgsql set search_path = '' as $$
begin
    raise exception '% is append-only', tg_table_name using errcode = 'integrity_constraint_violation';
end $$;
create trigger immutable before update on public.persona_versions for each row execute function gateway.refuse_update();

-- At most 100 personas a creator, deleted ones included, which limits creators behind PostgREST. The lock makes the count exact.
create function gateway.limit_personas() returns trigger
    language plpgsql set search_path = '' as $$
begin
    perform pg_advisory_xact_lock(hashtextextended('personas ' || new.user_id, 0));
    if (select count(*) from public.coaching_personas p where p.user_id = new.user_id) >= 100 then
        raise exception 'at most 100 personas a creator' using errcode = 'check_violation', constraint = 'coaching_personas_quota';
    end if;
    return new;
end $$;
create trigger quota before insert on public.coaching_personas for each row execute function gateway.limit_personas();

-- Makes a version of a user's draft and publishes it; returns its number, or NULL when the user has no such persona, it is deleted, or an
-- operator has withdrawn it. A draft that does not differ from the newest version is published as that one.
create function gateway.publish_persona(user_id uuid, persona_id uuid) returns integer
    language plpgsql set search_path = '' as $$
declare
    draft public.coaching_personas;
    newest public.persona_versions;
begin
    select * into draft from public.coaching_personas p
    where p.id = $2 and p.user_id = $1 and p.deleted_at is null and p.status <> 'withdrawn'
    for update;
    if not found then
        return null;
    end if;
    select * into newest from public.persona_versions v where v.persona_id = draft.id order by v.version desc limit 1;
    if (draft.name, draft.description, draft.domain, draft.tone, draft.methodology, draft.personality)
        is distinct from (newest.name, newest.description, newest.domain, newest.tone, newest.methodology, newest.personality)
    then
        insert into public.persona_versions (persona_id, version, name, description, domain, tone, methodology, personality)
        values (
            draft.id, coalesce(newest.version, 0) + 1, draft.name, draft.description, draft.domain, draft.tone, draft.methodology,
            draft.personality)
        returning * into newest;
    end if;
    update public.coaching_personas p
    set status = 'published', published_version = newest.version, published_at = now()
    where p.id = draft.id;
    return newest.version;
end $$;

-- Runs with its owner's rights on purpose: only creators read rows of the base tables.
create view public.published_personas with (security_barrier = true) as
    select p.id, p.slug, v.name, v.description, v.domain, v.version, p.published_at
    from public.coaching_personas p
    join public.persona_versions v on v.persona_id = p.id and v.version = p.published_version
    where p.status = 'published' and p.deleted_at is null;
comment on view public.published_personas is 'Public columns of personas, for all signed-in users; never a prompt text.';
