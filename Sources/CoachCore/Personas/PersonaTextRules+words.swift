// Words in their folded form: lower case, no diacritics.
extension PersonaTextRules {
    static let overridingVerbs: Set<String> = [
        "ignore", "ignores", "ignoring", "disregard", "forget", "override", "overrides", "bypass", "circumvent", "discard", "skip",
        "reveal",
        "ignora", "ignorar", "ignore", "ignorez", "ignoriere", "ignorieren", "vergiss", "olvida", "olvidar", "oublie", "oubliez",
        "dimentica", "esqueca", "negeer", "zignoruj", "missachte", "umgehe", "contourne", "omite",
    ]

    static let overriddenObjects: Set<String> = [
        "instruction", "instructions", "rule", "rules", "prompt", "prompts", "guideline", "guidelines", "guardrails", "safety",
        "instrucciones", "reglas", "instrucoes", "regras", "anweisung", "anweisungen", "regeln", "sicherheitsregeln", "consignes", "regles",
        "istruzioni", "regole", "instructies", "regels", "instrukcje", "zasady",
    ]

    static let attacks = [
        "system prompt", "system message", "developer mode", "dev mode", "debug mode", "god mode", "jailbreak", "jailbroken",
        "do anything now", "you are now", "you are dan", "act as dan", "no restrictions", "without restrictions", "unfiltered mode",
        "pretend to be", "new instructions", "end of instructions", "begin instructions", "hidden instructions", "initial instructions",
        "du bist jetzt", "ahora eres", "tu es maintenant", "vous etes maintenant", "ora sei", "agora voce e", "modo desarrollador",
        "entwicklermodus", "mode developpeur", "忽略以上", "忽略之前", "忽略所有", "系统提示", "開発者モード", "以前の指示を無視", "이전 지시를 무시",
        "игнорируй", "забудь все", "системный промпт", "تجاهل",
    ]

    /// Ends and beginnings of turns and of data in the formats of prompts.
    static let delimiters = [
        "<|", "|>", "[INST]", "[/INST]", "<<SYS>>", "{{", "}}", "</", "<persona", "<user_", "### System", "### Instruction", "```system",
    ]

    static let humanClaims = [
        "i am human", "i am a human", "i m human", "i m a human", "i am a real person", "i m a real person", "you are human",
        "you are a human", "you re human", "you re a human", "you are a real person", "you re a real person", "a real human",
        "real human being",
        "not an ai", "not a bot", "not a machine", "not a robot", "not a chatbot", "never say you are an ai", "never admit",
        "deny being an ai",
        "claim to be human", "claim to be a human", "say you are human", "pretend to be human", "hide that you are an ai",
        "ich bin ein mensch", "du bist ein mensch", "bist ein echter mensch", "kein bot", "keine ki", "soy humano", "soy humana",
        "soy una persona real", "eres humano", "eres una persona real", "je suis humain", "tu es humain", "vraie personne", "sono umano",
        "sou humano", "我是人类", "私は人間",
    ]

    static let professions: Set<String> = [
        "therapist", "psychotherapist", "psychologist", "psychiatrist", "doctor", "physician", "counsellor", "counselor", "nurse", "lawyer",
        "therapeut", "therapeutin", "psychologe", "psychologin", "psychiater", "arzt", "arztin", "terapeuta", "psicologo", "psicologa",
        "medico", "medica", "therapeute", "psychologue", "psychiatre", "medecin",
    ]
    static let licences: Set<String> = [
        "licensed", "licenced", "certified", "registered", "clinical", "qualified", "approbierter", "approbierte", "licenciado",
        "licenciada",
        "titulado", "titulada", "diplome", "diplomee",
    ]
    static let articles: Set<String> = ["a", "an", "your", "the", "ein", "eine", "dein", "deine", "un", "una", "une", "tu", "votre"]
    static let copulas: Set<String> = ["am", "m", "are", "re", "bin", "bist", "soy", "eres", "suis", "es", "etes", "sono", "sei"]
}
