-- What creators do with personas beside editing drafts, and what users do with shared ones.

-- Redeems a share link for the user of the claims; returns its persona, or NULL when the link is unknown, revoked, expired or used up, or the
-- persona is not published. A user who has access already, and the creator, use nothing up. The row of the link stays locked until the transaction
-- ends, which makes the number of uses exact. With its owner's rights: a user writes a creator's row.
create function gateway.redeem_share_link(user_id uuid, token text) returns uuid
    language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
    link public.share_links;
begin
    perform gateway.check_caller(user_id);
    select l.* into link from public.share_links l
    join public.coaching_personas p on p.id = l.persona_id and p.status = 'published' and p.deleted_at is null
    where l.token = $2 and l.revoked_at is null and (l.expires_at is null or l.expires_at > now());
    if not found then
        return null;
    end if;
    if link.user_id = $1 then
        return link.persona_id;
    end if;
    insert into public.persona_redemptions (user_id, persona_id, link_id) values ($1, link.persona_id, link.id)
    on conflict on constraint persona_redemptions_pkey do nothing;
    if not found then
        return link.persona_id;
    end if;
    update public.share_links l set uses = l.uses + 1
    where l.id = link.id and l.revoked_at is null and (l.max_uses is null or l.uses < l.max_uses);
    if not found then
        delete from public.persona_redemptions r where r.user_id = $1 and r.persona_id = link.persona_id;
        return null;
    end if;
    update public.persona_redemptions r set change = gateway.next_change($1) where r.user_id = $1 and r.persona_id = link.persona_id;
    return link.persona_id;
end $$;

-- The published personas that the user of the claims may use, newest publication first, before a place in that order: listed ones, own ones, and
-- those the user redeemed a link of, each found by an index of its own. With its owner's rights: only creators read rows of the table.
create function gateway.published_page(user_id uuid, before timestamptz, before_id uuid, at_most integer)
    returns table (published_at timestamptz, id uuid)
    language plpgsql stable security definer set search_path = '' as $$
begin
    perform gateway.check_caller($1);
    return query
        (select p.published_at, p.id from public.coaching_personas p
        where p.status = 'published' and p.visibility = 'listed' and p.deleted_at is null and (p.published_at, p.id) < ($2, $3)
        order by p.published_at desc, p.id desc limit $4)
        union
        select p.published_at, p.id from public.coaching_personas p
        where p.user_id = $1 and p.status = 'published' and p.deleted_at is null and (p.published_at, p.id) < ($2, $3)
        union
        select p.published_at, p.id from public.persona_redemptions r join public.coaching_personas p on p.id = r.persona_id
        where r.user_id = $1 and p.status = 'published' and p.deleted_at is null and (p.published_at, p.id) < ($2, $3)
        order by 1 desc, 2 desc limit $4;
end $$;

-- Ends the publication of a user's persona: conversations that have it keep their version. False when the user has no such persona, it was never
-- published, or it has none of the expected revisions (NULL: any).
create function gateway.unpublish_persona(user_id uuid, persona_id uuid, expected bigint[]) returns boolean
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
begin
    update public.coaching_personas p set status = 'unpublished'
    where p.id = $2 and p.user_id = $1 and p.deleted_at is null and p.status = 'published' and (expected is null or p.revision = any (expected));
    return found or exists (
        select from public.coaching_personas p
        where p.id = $2 and p.user_id = $1 and p.deleted_at is null and p.status in ('unpublished', 'withdrawn')
            and (expected is null or p.revision = any (expected)));
end $$;

-- The persona of a conversation of the user of the claims: {persona_id, version, newest_version}, newest_version NULL while it is not published. NULL
-- when there is no such conversation, or it has no persona.
create function gateway.persona_of_conversation(user_id uuid, conversation_id uuid) returns jsonb
    language plpgsql stable set search_path = '' as $$
begin
    return (
        select jsonb_build_object(
            'persona_id', c.persona_id, 'version', c.persona_version,
            'newest_version', case when p.status = 'published' and p.deleted_at is null then p.published_version end)
        from public.conversations c
        left join public.coaching_personas p on p.id = c.persona_id
        where c.user_id = gateway.user_id() and c.user_id = $1 and c.id = $2 and c.deleted_at is null and c.persona_id is not null);
end $$;

-- Lets a conversation go on with the published version of its persona. Returns as persona_of_conversation.
create function gateway.accept_persona_version(user_id uuid, conversation_id uuid) returns jsonb
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    known constant jsonb := gateway.persona_of_conversation(user_id, conversation_id);
    number bigint;
begin
    if (known ->> 'newest_version')::integer > coalesce((known ->> 'version')::integer, 0) then
        number := gateway.next_change(user_id);
        update public.conversations c
        set persona_version = (known ->> 'newest_version')::integer, updated_at = now(), change = number
        where c.user_id = $1 and c.id = $2 and c.deleted_at is null;
    end if;
    return gateway.persona_of_conversation(user_id, conversation_id);
end $$;

-- A conversation that is made before its first message keeps the version of its persona, as one that begins with a message does (begin_turn). With
-- its owner's rights: users do not write versions.
create function gateway.keep_persona_version() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    select p.published_version into new.persona_version from public.coaching_personas p
    where p.id = new.persona_id and p.status = 'published' and p.deleted_at is null;
    return new;
end $$;
create trigger keep_persona_version before insert on public.conversations for each row
    when (new.persona_id is not null and new.persona_version is null and new.source <> 'preview')
    execute function gateway.keep_persona_version();

-- Withdraws a persona: no turn uses it from then on, and its creator cannot publish it. False when there is no such persona, or it was never
-- published. A persona that is withdrawn already keeps the first reason.
create function operator.unpublish_persona(persona_id uuid, reason text, request_id text) returns boolean
    language plpgsql security definer set search_path = '' as $$
begin
    perform operator.require_operator();
    update public.coaching_personas p set status = 'withdrawn' where p.id = $1 and p.status in ('published', 'unpublished');
    if not found then
        return exists (select from public.coaching_personas p where p.id = $1 and p.status = 'withdrawn');
    end if;
    perform gateway.append_audit('persona.unpublish', 'persona/' || persona_id, null, null, $2, $3);
    return true;
end $$;

revoke all on all functions in schema gateway, operator from public, anon, authenticated;
grant execute on function
    gateway.redeem_share_link(uuid, text), gateway.published_page(uuid, timestamptz, uuid, integer), gateway.unpublish_persona(uuid, uuid, bigint[]), gateway.persona_of_conversation(uuid, uuid),
    gateway.accept_persona_version(uuid, uuid), operator.unpublish_persona(uuid, text, text)
    to coach_gateway;
