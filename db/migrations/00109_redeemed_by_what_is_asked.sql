-- gateway.requested_persona as in 00096, but a share link is redeemed only for a request of its own persona. A request that named another one besides was
-- rejected, and had used up the link.
create or replace function gateway.requested_persona(uid uuid, request jsonb) returns public.persona_versions
    language plpgsql as $$
declare
    requested uuid := (request ->> 'persona_id')::uuid;
    is_open boolean := true;
    persona public.persona_versions;
begin
    if request ->> 'source' = 'preview' then
        return gateway.draft_persona(uid, requested);
    elsif request ->> 'share_token' is not null then
        -- Of a closed link, too: its persona answers in the conversations that have it, and nowhere else.
        select l.persona_id into requested from public.share_links l
        where l.token = request ->> 'share_token' and l.persona_id = coalesce(requested, l.persona_id);
        is_open := found and gateway.redeem_share_link(uid, request ->> 'share_token') is not null;
    elsif request ->> 'persona_slug' is not null then
        select p.id into requested from public.coaching_personas p where p.slug = request ->> 'persona_slug';
    end if;
    if is_open then
        persona := gateway.find_persona(uid, requested, null);
    end if;
    if persona.persona_id is null then
        select v.* into persona
        from public.conversations c
        cross join lateral gateway.find_persona(uid, c.persona_id, c.persona_version) v
        where c.user_id = uid and c.persona_id = requested and c.id in (
            (request ->> 'conversation_id')::uuid,
            (select t.conversation_id from public.turns t
                where t.user_id = uid and t.idempotency_key = coalesce(request ->> 'idempotency_key', '')));
    end if;
    return persona;
end $$;
