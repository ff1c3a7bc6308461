import CoachCore
import JSON

/// The argument of `gateway.record_crisis`, and a member of a receipt on disk.
extension CrisisRecord: StoredWritable, JSONReadable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("jurisdiction", jurisdiction)
            json.field("versions", versions)
            json.field("events", events)
        }
    }

    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            events: try json.required("events"), jurisdiction: try json.optional("jurisdiction"), versions: try json.optional("versions"))
    }
}

extension CrisisRecord.Event: StoredWritable, JSONReadable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("stage", stage.rawValue)
            json.field("tier", tier.rawValue)
            json.field("category", category)
            json.field("patterns", patterns)
            json.field("score_bucket", scoreBucket)
            json.field("action", action.rawValue)
        }
    }

    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            stage: try json.required("stage", .choice), tier: try json.required("tier", .choice),
            category: try json.optional("category"), patterns: try json.required("patterns"),
            scoreBucket: try json.optional("score_bucket"), action: try json.required("action", .choice))
    }
}

extension CrisisRecord.Versions: StoredWritable, JSONReadable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("model", model)
            json.field("grammar", grammar)
            json.field("guard", outputGuard)
            json.field("resources", resources)
        }
    }

    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            model: try json.optional("model"), grammar: try json.required("grammar"), outputGuard: try json.required("guard"),
            resources: try json.required("resources"))
    }
}
