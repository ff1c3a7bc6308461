/// The words of an assurance: a message that only says that its user is safe, such as "yes I'm safe, my sister is with me". Partners and bare pronouns
/// are missing on purpose, because the person with the user may be the danger.
enum AssuranceWords {
    /// Each of them makes a message of these words an assurance.
    static let safe = VagueWords.set("safe salvo sicherheit sécurité segurança")
    /// One of them at the start makes the answer to "are you safe?" an assurance.
    static let yes = VagueWords.set("yes yeah yep yup sí ja jep oui ouais sim")
    /// Words that an assurance may have besides.
    static let others = VagueWords.set(
        """
        i im am is are we my me with here now at home a in place and ok okay fine good totally completely right thanks thank you tonight today
        sister brother mom mum mother dad father parents friend friends roommate aunt grandma grandmother cousin neighbor neighbour family
        estoy estamos está están con mi mis mamá madre papá padre padres hermana hermano amiga amigo familia tía abuela aquí ahora en casa bien y
        conmigo gracias
        ich bin ist sind meine mein mutter mama vater schwester bruder eltern familie oma tante mitbewohnerin bei mir hier da zu hause jetzt
        gerade gut mit meiner meinem meinen und alles danke
        je suis est sont avec moi ma mon mes mère maman père sœur soeur frère amie ami famille ici là maintenant chez bien à la maison et merci
        eu estou está estão com minha meu mãe pai irmã irmão família agora comigo em bem e tá obrigada obrigado
        """)
}

extension TokenSequence {
    /// Whether the message is an assurance. `answersWhetherSafe` is true after a question whether the user is safe: "yes" is an answer to it.
    func isAssurance(answersWhetherSafe: Bool) -> Bool {
        let words = hashes
        let saysYes = answersWhetherSafe && words.first.map(AssuranceWords.yes.contains) == true
        guard saysYes || words.contains(where: AssuranceWords.safe.contains) else { return false }
        let known = [AssuranceWords.safe, AssuranceWords.yes, AssuranceWords.others]
        return words.allSatisfy { word in known.contains { $0.contains(word) } }
    }
}
