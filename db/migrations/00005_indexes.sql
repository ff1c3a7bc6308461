-- What is looked up otherwise than by primary key.

-- History and message lists: one conversation, newest first.
create index idx_messages_conversation_id on public.messages (user_id, conversation_id, seq);
-- The list of conversations.
create index idx_conversations_last_message_at on public.conversations (user_id, last_message_at desc, id desc);
-- A user's spending, newest first; the operator's by time.
create index idx_usage_logs_user_id on public.usage_logs (user_id, created_at);
create index idx_usage_logs_created_at on public.usage_logs (created_at, user_id);
-- A creator's own personas.
create index idx_coaching_personas_user_id on public.coaching_personas (user_id);
