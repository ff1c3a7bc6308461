import JSON

extension Schema {
    /// The schema of what a reader declares.
    init(declared declaration: JSONDeclaration) {
        self =
            switch declaration {
            case .any: .any
            case .boolean: .boolean
            case .number: .number
            case .integer(let bounds): Schema(.integer(bounds))
            case .text(let length): .text(length: length)
            case .choice(let values): .values(values)
            case .parsed(let form): .text.described(form)
            case .uuid: .id
            case .time: .time
            case .list(let element, let count): .array(of: Schema(declared: element), count: count)
            case .object(let members): .object(members.map(Field.init))
            case .either(let declarations): .oneOf(declarations.map(Schema.init(declared:)))
            }
    }
}

extension Schema.Field {
    /// A member that is not required may be absent or `null`.
    fileprivate init(_ member: JSONDeclaration.Member) {
        let schema = Schema(declared: member.declaration)
        self.init(member.name, member.isRequired ? schema : schema.nullable, required: member.isRequired)
    }
}
