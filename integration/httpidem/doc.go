// Package httpidem runs a request that comes twice once, over all processes of a service, and answers both alike. It is a
// net/http handler over [primitives.Memo], for requests with the header field Idempotency-Key of the IETF's
// draft-ietf-httpapi-idempotency-key-header-07:
//
//	idem, err := httpidem.New(client, "api", &httpidem.Options{Tenant: userOf})
//	if err != nil {
//		return err
//	}
//	http.Handle("/charges", idem.Handler(charges))
//
// # Which requests
//
// Those with a key whose method is not GET, HEAD, OPTIONS or TRACE. Requests without a key are served as they come, or
// get status 400 if [Options.Required] says so. By the draft a key is a string in quotes. A key without quotes is the same
// key: many clients send it so. It then has no space, quote, comma or semicolon. A key is of the caller that
// [Options.Tenant] names: two callers may use the same.
//
// Another request is one with another method, path, query or body. So the body is read before the handler is called.
//
// # Answers
//
//	the first request with a key    what the handler answers
//	a later one                     the same status, body and listed fields, and Idempotent-Replayed: true
//	a later one, while the first    409 and Retry-After, at once or after [Options.Wait]
//	    runs
//	another one with the same key   422
//	a later one, if the answer was  409 without Retry-After, and a problem that says so
//	    too large to be kept
//	a key that is malformed         400
//	a body above MaxRequest         413
//	a caller without a name         403
//	no server for the keys          503 and Retry-After, or what the handler answers: [Options.RunUnavailable]
//
// The handler's own refusals are problems by RFC 9457 (application/problem+json).
//
// An answer is kept if [Options.Keep] says so of its status: by default all but 5xx and 429. After another answer, after a
// panic, and after a crash, the next request with the key runs. So a handler may run in part, and then again: it passes the key
// on to a provider that knows such keys, or claims its data with the token of [lease.From].
//
// # The handler
//
// Nothing that the handler writes leaves before it returns, Flush included, or before its body is larger than
// [Options.MaxResponse]. Then the server first stores that the answer is not kept, and the bytes flow from there on. There
// is no Hijack, no trailer and no [http.ResponseController] but for Flush.
//
// An [http.TimeoutHandler] belongs outside: inside it would end the run while its handler goes on.
//
// The context of the request ends with the lease of the run. If the client goes away, the handler may go on for
// [Options.Grace]: the client's next request gets its answer.
//
// A request that has run gets its answer, even if the answer could not be kept: [Options.OnError] receives the reason.
package httpidem
