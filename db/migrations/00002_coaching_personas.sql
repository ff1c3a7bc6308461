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
    tone jsonb check (octet_length(tone::text) <= 20000),
    methodology jsonb check (octet_length(methodology::text) <= 20000),
    personality jsonb check (octet_length(personality::text) <= 20000),
    -- First messages that a user can choose.
    starters jsonb check (octet_length(starters::text) <= 8000),
    -- BCP 47 tags.
    languages jsonb check (octet_length(languages::text) <= 1000),
    -- The character card that the draft was imported from, for its export; no turn reads it.
    card jsonb check (octet_length(card::text) <= 1100000),
    -- `link`: for its creator and those who redeemed a share link. `listed`: for all users.
    visibility text not null default 'link' check (visibility in ('link', 'listed')),
    -- Counts the changes of this row; its entity tag.
    revision integer not null default 1,
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

create function gateway.count_revision() returns trigger language plpgsql set search_path = '' as $$
begin
    new.revision := old.revision + 1;
    return new;
end $$;
create trigger count_revision before update on public.coaching_personas for each row execute function gateway.count_revision();

-- Published versions, at most 1,000 of a persona. Sizes were checked in the draft.
create table public.persona_versions (
    persona_id uuid not null references public.coaching_personas (id) on delete cascade,
    version integer not null,
    name text not null,
    description text,
    domain jsonb,
    tone jsonb,
    methodology jsonb,
    personality jsonb,
    starters jsonb,
    languages jsonb,
    created_at timestamptz not null default now(),
    primary key (persona_id, version)
);

-- Privileges and policies let only the tables' owner change a version; this also prevents a mistake in one of its functions.
create function gateway.refuse_update() returns trigger language plpgsql set search_path = '' as $$
begin
    raise exception '% is append-only', tg_table_name using errcode = 'integrity_constraint_violation';
end $$;
create trigger immutable before update on public.persona_versions for each row execute function gateway.refuse_update();

create trigger quota before insert on public.coaching_personas for each row
    execute function gateway.limit_rows('100', 'r.deleted_at is null');
-- Deleted ones are kept for conversations.
create trigger quota_of_all before insert on public.coaching_personas for each row execute function gateway.limit_rows('1000');

-- The slug of a persona: its name in a-z and 0-9, and the beginning of its id, so that nobody can take a name that others look for.
create function gateway.slug_of(name text, id uuid) returns text
    language sql immutable
    return concat_ws(
        '-', nullif(trim('-' from left(regexp_replace(regexp_replace(
            lower(normalize(name, nfkd)), '[\u0300-\u036f]', '', 'g'), '[^a-z0-9]+', '-', 'g'), 50)), ''), left(id::text, 8));

-- Makes a version of a user's draft and publishes it; returns its number, or NULL when the user has no such persona, it is deleted, or an
-- operator has withdrawn it. A draft that does not differ from the newest version is published as that one. Visibility NULL: unchanged.
create function gateway.publish_persona(user_id uuid, persona_id uuid, visibility text default null) returns integer
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
    if (draft.name, draft.description, draft.domain, draft.tone, draft.methodology, draft.personality, draft.starters, draft.languages)
        is distinct from (
            newest.name, newest.description, newest.domain, newest.tone, newest.methodology, newest.personality, newest.starters,
            newest.languages)
    then
        -- Versions have no gaps, so the number is their count.
        if newest.version >= 1000 then
            raise exception 'at most 1000 versions of a persona' using errcode = 'check_violation', constraint = 'persona_versions_quota';
        end if;
        insert into public.persona_versions (
            persona_id, version, name, description, domain, tone, methodology, personality, starters, languages)
        values (
            draft.id, coalesce(newest.version, 0) + 1, draft.name, draft.description, draft.domain, draft.tone, draft.methodology,
            draft.personality, draft.starters, draft.languages)
        returning * into newest;
    end if;
    update public.coaching_personas p
    set status = 'published', published_version = newest.version, published_at = now(), visibility = coalesce($3, p.visibility),
        slug = coalesce(p.slug, gateway.slug_of(newest.name, p.id))
    where p.id = draft.id;
    return newest.version;
end $$;

-- Pictures of personas, without metadata.
create table public.persona_avatars (
    persona_id uuid primary key references public.coaching_personas (id) on delete cascade,
    format text not null check (format in ('image/png', 'image/jpeg', 'image/webp')),
    content bytea not null check (octet_length(content) <= 524288)
);

-- Links by which creators share personas. A use is one redeeming user. A directory by token, across users.
create table public.share_links (
    id uuid primary key default gen_random_uuid(),
    persona_id uuid not null references public.coaching_personas (id) on delete cascade,
    -- The creator.
    user_id uuid not null,
    -- 192 random bits in base64url. Not hashed: a creator can read it again, and it is made to be spread.
    token text not null unique check (char_length(token) between 22 and 128),
    label text check (char_length(label) <= 80),
    max_uses integer check (max_uses > 0),
    uses integer not null default 0 check (uses <= max_uses),
    expires_at timestamptz,
    revoked_at timestamptz,
    created_at timestamptz not null default now()
);
create index share_links_persona on public.share_links (persona_id, created_at desc, id desc);

-- Which personas a user got access to by a share link. A user's own table.
create table public.persona_redemptions (
    user_id uuid not null references public.users (id) on delete cascade,
    persona_id uuid not null,
    link_id uuid not null,
    redeemed_at timestamptz not null default now(),
    primary key (user_id, persona_id)
);

-- Runs with its owner's rights on purpose: only creators read rows of the base tables.
create view public.published_personas with (security_barrier = true) as
    select p.id, p.slug, v.name, v.description, v.domain, v.starters, v.languages, v.version, p.published_at
    from public.coaching_personas p
    join public.persona_versions v on v.persona_id = p.id and v.version = p.published_version
    where p.status = 'published' and p.deleted_at is null
        and (
            p.visibility = 'listed' or p.user_id = (select auth.uid())
            or exists (select from public.persona_redemptions r where r.user_id = (select auth.uid()) and r.persona_id = p.id));
comment on view public.published_personas is 'Public columns of the personas that a signed-in user may use; never a prompt text.';
