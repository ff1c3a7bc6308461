/// Words that show neither danger nor safety by themselves. The models take a fragment of such words ("I took it already", "hab sie schon genommen") for
/// an overdose, because most training rows with these words are about one. Missing on purpose: amounts ("all", "todo", numbers), plans ("doing it
/// tonight"), persons, and parts of the body.
enum VagueWords {
    /// English, Spanish, German, French, Portuguese. By language, because a vague word of one may name a person or death in another: "son", "die".
    static let languages: [Set<UInt64>] = [
        set(
            """
            i im ive we weve my me mine it its this that these those them they theyre some one ones had have has got get getting do did done
            take taking taken took buy bought find found use used made try tried a an the to in on at of for with from here there yes yeah
            yep no ok okay just already now today tonight yesterday tomorrow again earlier only too also then so and or but still ready
            right morning evening before after first thats was were is are be been am
            """),
        set(
            """
            yo me te se lo la los las le ya ha hemos mi mis un una uno el esto eso esta estos estas aquí hoy ayer noche tarde si no ahora
            tomé tomado tomo tengo tuve compré comprado encontré hice hecho a de en con y o otra vez por para también tomar tomarlo comprar
            listo lista fue es son están conmigo
            """),
        set(
            """
            ich hab habe haben habs hast mir mich sie es ihn das die der den dem ein eine einen mein meine meinen meins wir schon gerade
            eben jetzt heute gestern morgen abend nacht früh nochmal wieder noch ja nein genommen gekauft gefunden gemacht getan geholt
            bekommen nehmen kaufen hier da dabei bei mit zu auf im am und oder aber auch nur bin ist sind war
            """),
        set(
            """
            je jai tu le la les l en y lai lavais un une de des du d mon ma mes ça cela ce cet cette ici déjà maintenant aujourdhui hier
            demain soir matin pris prise prises acheté achetés achetées acheter trouvé trouvés trouvées fait prendre oui non encore aussi et
            ou mais suis sont était avec pour moi
            """),
        set(
            """
            eu já o os as um uma uns umas isso isto esse essa esses essas este esta meu minha meus minhas agora hoje ontem amanhã manhã novo
            tomei tive comprei achei encontrei fiz feito sim não com em na nos nas do da dos das pra tá estão acabei de a e ou que para
            tomar comprar fazer foi são
            """),
    ]
    /// Food supplements, of which an ordinary amount is harmless.
    static let supplements = set(
        """
        creatine protein whey shake shakes vitamin vitamins multivitamin magnesium zinc omega collagen electrolytes preworkout
        creatina proteína proteínas batido vitamina vitaminas multivitamínico magnesio colágeno electrolitos
        kreatin creatin eiweiß proteinshake eiweißshake vitamine magnesium zink kollagen elektrolyte
        créatine protéine protéines multivitamines magnésium collagène électrolytes
        magnésio zinco eletrólitos
        """)

    /// The hashes of the words of a text.
    static func set(_ words: String) -> Set<UInt64> { Set(TokenSequence(phrase: words).hashes) }
}

extension TokenSequence {
    /// Whether all words are vague words of one language, or supplements.
    var isVague: Bool {
        VagueWords.languages.contains { words in tokens.allSatisfy { words.contains($0.hash) || namesSupplement($0) } }
    }

    var namesSupplement: Bool { tokens.contains(where: namesSupplement) }

    private func namesSupplement(_ word: Token) -> Bool { VagueWords.supplements.contains(word.hash) }
}
