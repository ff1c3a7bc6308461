/// Words of messages in which users say that they are safe and nothing else: "yes I'm safe, my sister is with me". Partners and bare pronouns are
/// missing on purpose: who is with the user may be the danger.
enum AssuranceWords {
    static let safe = VagueWords.hashes("safe salvo sicherheit sécurité segurança")
    static let yes = VagueWords.hashes("yes yeah yep yup sí ja jep oui ouais sim")
    static let others = VagueWords.hashes(
        """
        i im am is are was we my me with here now at home a in place and ok okay fine good totally completely right thanks thank you tonight today
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
    /// Whether the message has no other words than those above, and says that its user is safe. `answers`: after a question whether they are, so
    /// that "yes" at its beginning says so.
    func isAssurance(answers: Bool) -> Bool {
        let words = tokens.map(\.hash)
        let saysSo = words.contains(where: AssuranceWords.safe.contains) || answers && words.first.map(AssuranceWords.yes.contains) == true
        let all = [AssuranceWords.safe, AssuranceWords.yes, AssuranceWords.others]
        return saysSo && words.allSatisfy { word in all.contains { $0.contains(word) } }
    }
}
