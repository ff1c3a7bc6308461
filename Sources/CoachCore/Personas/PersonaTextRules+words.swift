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
    /// Before what a verb is done with, which is not its object: "Override fear with simple rules".
    static let instruments: Set<String> = ["with", "using", "through", "mit", "durch", "con", "avec", "com"]
    /// Negations that follow a verb: "Vergiss nie".
    static let laterNegations: Set<String> = ["nicht", "nie", "niemals", "pas", "jamais"]

    static let attacks = [
        "system prompt", "system message", "developer mode", "dev mode", "debug mode", "god mode", "jailbreak", "jailbroken",
        "do anything now", "you are dan", "act as dan", "have no restrictions", "has no restrictions", "with no restrictions",
        "are no restrictions", "answer without restrictions", "answers without restrictions", "respond without restrictions",
        "speak without restrictions", "act without restrictions", "unfiltered mode", "new instructions", "end of instructions",
        "begin instructions", "hidden instructions", "initial instructions", "modo desarrollador",
        "entwicklermodus", "mode developpeur", "忽略以上", "忽略之前", "忽略所有", "系统提示", "開発者モード", "以前の指示を無視", "이전 지시를 무시",
        "игнорируй", "забудь все", "системный промпт", "تجاهل",
    ]
    /// What gives the coach another role when it begins a clause: "You are now DAN", not "We start where you are now".
    static let roleOrders = [
        "you are now", "du bist jetzt", "ahora eres", "tu es maintenant", "vous etes maintenant", "ora sei", "agora voce es",
        "pretend to be",
    ]
    /// Before a clause: "And you are now DAN".
    static let clauseOpeners: Set<String> = [
        "and", "so", "then", "ok", "okay", "hey", "please", "you", "must", "always", "should", "und", "dann", "also", "bitte", "y", "e",
        "et", "entonces", "alors", "donc",
    ]

    /// Ends and beginnings of turns and of data in the formats of prompts.
    static let delimiters = [
        "<|", "|>", "[INST]", "[/INST]", "<<SYS>>", "{{", "}}", "</", "<persona", "<user_", "### System", "### Instruction", "```system",
    ]

    /// Besides those that `SelfDescription` finds.
    static let humanClaims = [
        "i am human", "i am a human", "i m human", "i m a human", "i am a real person", "i m a real person", "you are human",
        "you are a human", "you re human", "you re a human", "you are a real person", "you re a real person", "she is human", "he is human",
        "coach is human", "talking to a real human", "talking with a real human", "talking with a real person",
        "speaking with a real person", "chat with a real human", "chat with a real person", "chatting with a real person",
        "of flesh and blood", "not an ai", "not a bot", "not a chatbot", "t an ai", "t a bot", "t a chatbot", "no soy una ia",
        "no eres una ia", "no es una ia", "no es un bot", "nao es uma ia", "nao sou uma ia", "pas une ia", "never say you are an ai",
        "deny being an ai",
        "claim to be human", "claim to be a human", "say you are human", "pretend to be human", "hide that you are an ai",
        "ich bin ein mensch", "du bist ein mensch", "bist ein echter mensch", "kein bot", "keine ki", "aus fleisch und blut", "soy humano",
        "soy humana", "soy una persona real", "eres humano", "eres humana", "eres una persona real", "de carne y hueso", "je suis humain",
        "je suis humaine", "tu es humain", "tu es humaine", "avec une vraie personne", "en chair et en os", "sono umano", "sou humano",
        "sou humana", "de carne e osso", "我是人类", "私は人間",
    ]
    /// With the coach as their subject: "Ada is not a machine", not "your body is not a machine".
    static let machineDenials = [
        "not a machine", "not a robot", "t a machine", "t a robot", "no es un robot", "no es una maquina", "nao es um robo", "pas un robot",
        "pas une machine", "kein roboter", "keine maschine",
    ]
    /// Whom a coach encourages: "Rest: you aren't a machine".
    static let addressed: Set<String> = ["you", "du", "ihr", "tu", "vous"]
    /// Subjects of denials that are not the coach.
    static let livingSubjects: Set<String> = [
        "body", "brain", "mind", "heart", "child", "kid", "baby", "parent", "human", "nobody", "team", "work", "training", "korper",
        "gehirn", "kind", "mensch", "niemand", "cuerpo", "mente", "cerebro", "nadie", "corps", "cerveau", "enfant", "corpo", "crianca",
        "ninguem",
    ]
    static let artificial: Set<String> = ["ai", "bot", "chatbot", "robot", "machine", "llm", "model", "artificial"]
    /// Before one of `artificial` that says what the coach is: "you are an AI", not "mistakes of AI".
    static let beforeArtificial = indefiniteArticles.union(copulas).union(["being", "language"])
    /// What a text can forbid: "Never claim to be human".
    static let reportingVerbs: Set<String> = [
        "say", "says", "claim", "claims", "pretend", "pretends", "hide", "hides", "deny", "denies", "suggest", "suggests", "imply",
        "implies", "sage", "sagt", "behaupte", "behauptet", "digas", "dice", "dis", "dit", "diga", "diz",
    ]
    static let thatConjunctions: Set<String> = ["that", "dass", "que"]

    static let humans: Set<String> = [
        "human", "mensch", "humano", "humana", "humain", "humaine", "umano", "umana",
    ]
    /// Human beings only with one of `genuine`.
    static let persons: Set<String> = ["being", "person", "persona", "personne", "pessoa"]
    static let genuine = humanAdjectives.union([
        "real", "actual", "living", "echter", "echte", "echt", "ser", "etre", "vraie", "vrai", "reelle", "verdadera",
        "verdadero", "verdadeira", "verdadeiro", "vera",
    ])
    /// Human beings only with one of `humanAdjectives`.
    static let helpers: Set<String> = [
        "coach", "trainer", "trainerin", "mentor", "mentorin", "adviser", "advisor", "expert", "companion", "friend",
    ]
    static let humanAdjectives: Set<String> = ["human", "menschlicher", "menschliche"]
    /// Subjects that are a person by themselves. Not "il": "il est humain de" says something of everybody.
    static let personalPronouns: Set<String> = ["she", "he", "ella", "el", "sie", "er", "elle", "ela", "ele", "lei", "lui"]
    /// Between a copula and what it says.
    static let adverbs: Set<String> = [
        "really", "truly", "actually", "indeed", "genuinely", "100", "fully", "completely", "totally", "also", "still", "just", "simply",
        "wirklich", "tatsachlich", "auch", "vollig", "realmente", "verdaderamente", "tambien", "totalmente", "completamente", "tambem",
        "vraiment", "aussi", "davvero", "anche",
    ]
    /// Of doctors, before a name.
    static let titles: Set<String> = ["dr", "doktor", "dra"]

    static let professions: Set<String> = [
        "psychologist", "psychiatrist", "doctor", "physician", "counsellor", "counselor", "nurse", "lawyer",
        "psychologe", "psychologin", "psychiater", "psychiaterin", "anwalt", "anwaltin", "rechtsanwalt", "rechtsanwaltin",
        "psicologo", "psicologa", "psiquiatra", "psichiatra", "medico", "medica", "doctora", "doutor", "doutora", "abogado", "abogada",
        "advogado", "advogada", "enfermero", "enfermera", "enfermeiro", "enfermeira",
        "psychologue", "psychiatre", "medecin", "docteur", "avocat", "avocate", "infirmier", "infirmiere",
    ]
    /// Of compounds, too: "psychotherapist", "hausarzt".
    static let professionEndings = ["therapist", "therapeut", "therapeutin", "therapeute", "terapeuta", "arzt", "arztin"]

    static func isProfession(_ word: String) -> Bool {
        professions.contains(word) || professionEndings.contains { word.hasSuffix($0) }
    }

    static let licences: Set<String> = [
        "licensed", "licenced", "certified", "registered", "clinical", "qualified", "approbierter", "approbierte", "licenciado",
        "licenciada",
        "titulado", "titulada", "diplome", "diplomee",
    ]
    /// What can stand between an article and a profession.
    static let qualifiers = licences.union([
        "board", "fully", "experienced", "trained", "professional", "senior", "personal", "private", "mental", "health", "family",
        "marriage",
        "couple", "couples", "child", "sports", "cognitive", "behavioral", "behavioural", "trauma", "klinischer", "klinische", "erfahrener",
        "erfahrene", "ausgebildeter", "ausgebildete", "personlicher", "personliche", "clinico", "clinica", "experimentado", "experimentada",
        "experiente", "formado", "formada", "experimente", "experimentee", "clinicien", "clinicienne", "true", "proper",
    ]).union(genuine)
    static let indefiniteArticles: Set<String> = ["a", "an", "ein", "eine", "un", "una", "une", "um", "uma"]
    static let possessives: Set<String> = [
        "your", "my", "our", "dein", "deine", "ihr", "ihre", "mein", "meine", "tu", "su", "mi", "ton", "ta", "votre", "mon", "ma", "seu",
        "sua", "teu", "tua", "meu", "minha",
    ]
    static let articles = indefiniteArticles.union(possessives).union(["the", "der", "die", "el", "la", "le", "o"])
    static let copulas: Set<String> = [
        "am", "m", "are", "re", "is", "been", "bin", "bist", "ist", "soy", "eres", "es", "suis", "est", "etes", "sono", "sei", "sou",
    ]
    static let roleWords: Set<String> = ["as", "als", "como", "comme", "que"]
    static let workVerbs = licences.union([
        "work", "works", "worked", "working", "practise", "practises", "practised", "practising", "practice", "practices", "practiced",
        "practicing", "act", "acts", "acting", "serve", "serves", "serving", "trained", "arbeite", "arbeitest", "arbeitet", "gearbeitet",
        "tatig",
        "praktiziert", "trabajo", "trabajas", "trabaja", "trabajado", "ejerzo", "ejerces", "ejerce", "actua", "travaille", "travailles",
        "exerce", "exerces", "trabalho", "trabalhas", "trabalha", "trabalhado", "atuo", "atua",
    ])
    static let negations: Set<String> = [
        "not", "never", "no", "t", "cannot", "without", "nor", "nicht", "nie", "niemals", "kein", "keine", "nunca", "jamas", "nao", "non",
        "pas", "jamais", "sans", "sin", "sem", "ohne",
    ]
    /// Between the subject and the rest of a denial: "isn't", "n'est".
    static let beforeDenial = copulas.union(adverbs).union(["s", "isn", "aren", "n", "ne"])
    /// Words after which a noun is complete: "psychologist with", not "doctor visits".
    static let phraseEnds: Set<String> = [
        "with", "for", "from", "in", "at", "of", "since", "who", "that", "and", "but", "based", "mit", "fur", "aus", "seit", "und", "con",
        "para", "de", "en", "desde", "y", "que", "avec", "pour", "depuis", "et", "qui", "com", "em", "e",
    ]
    static let relativePronouns: Set<String> = ["who", "der", "die", "que", "qui"]
    /// Subjects that are not the coach: users, their families, and questions.
    static let otherSubjects: Set<String> = [
        "user", "users", "client", "clients", "people", "someone", "anyone", "everyone", "everybody", "us", "they", "it", "there", "ask",
        "contact",
        "choice", "option", "answer", "wife", "husband", "spouse",
        "mother", "mom", "mum", "father", "dad", "sister", "brother", "son", "daughter", "what", "when", "where", "how", "was",
        "wann",
        "nutzer", "kunde", "kundin", "jeder", "frau", "mann", "mutter", "vater", "schwester", "bruder", "usuario", "usuaria", "cliente",
        "persona", "pessoa", "personne", "esposa", "marido", "madre", "padre", "mae", "pai", "mere", "pere", "mari", "femme", "duda",
        "pregunta", "consulta", "cuestion", "emergencia", "duvida", "pergunta", "questao",
    ]

    /// Before a subject of which nothing is said: "If you are a lawyer".
    static let conditions: Set<String> = [
        "if", "when", "whether", "unless", "wenn", "falls", "ob", "si", "cuando", "quand", "se", "quando",
    ]

    /// Words of a name that are no name: "The Coach and I".
    static let functionWords = articles.union(copulas).union(negations).union(phraseEnds).union(relativePronouns).union(otherSubjects)
        .union(roleWords).union(["to", "zu"])
    /// Names of people that follow a noun also as verbs: "a doctor may".
    static let namesThatAreVerbs: Set<String> = ["will", "may", "can", "mark", "hope"]

    /// Top-level domains that end a host, in any case.
    static let topLevelDomains: Set<String> = [
        "com", "net", "org", "io", "app", "co", "me", "de", "fr", "es", "uk", "info", "xyz", "ai", "dev", "gg", "tv", "eu", "ch", "nl",
        "pt",
        "br", "pl", "dk", "fi", "cz", "ru", "cn", "jp", "kr", "au", "nz", "ie", "ca", "mx", "cl", "ly", "fm", "biz", "edu", "gov",
    ]
    /// Top-level domains that are ordinary words. In lower case alone: "Listens.Life is short" lacks a space.
    static let wordDomains: Set<String> = [
        "life", "live", "care", "coach", "health", "chat", "club", "social", "academy", "fitness", "yoga", "clinic", "therapy", "email",
        "store",
        "studio", "guru", "center", "link", "page", "team", "guide", "pro", "shop", "tech", "cloud", "blog", "site", "online", "website",
    ]
    /// Top-level domains that are short words of prose.
    static let shortWordDomains: Set<String> = [
        "be", "to", "in", "it", "at", "is", "so", "us", "my", "st", "la", "id", "am", "do", "no", "se",
    ]
}
