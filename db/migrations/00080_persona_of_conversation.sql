-- The persona that answers in a conversation of the user of the claims: {persona_id, version, newest_version}, newest_version NULL while it is not
-- published. NULL when there is no such conversation, it has no persona, or that is gone: its creator deleted it, or an operator withdrew it. Then the
-- coach itself answers (gateway.find_persona).
create or replace function gateway.persona_of_conversation(user_id uuid, conversation_id uuid) returns jsonb
    language plpgsql stable set search_path = '' as $$
begin
    return (
        select jsonb_build_object(
            'persona_id', c.persona_id, 'version', c.persona_version,
            'newest_version', case when p.status = 'published' then p.published_version end)
        from public.conversations c
        join public.coaching_personas p on p.id = c.persona_id and p.deleted_at is null
            and (p.status = 'published' or p.status = 'unpublished' and c.persona_version is not null)
        where c.user_id = gateway.user_id() and c.user_id = $1 and c.id = $2 and c.deleted_at is null);
end $$;
