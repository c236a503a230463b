// Package httplimit limits how often the clients of an HTTP service send requests, over all processes of the
// service. It is a net/http handler over [primitives.RateLimiter] or, with [NewThrottle], [primitives.Throttle]:
//
//	limit, err := httplimit.NewRateLimiter(client, "api", primitives.Rate{Permits: 100, Interval: time.Minute},
//		&httplimit.Options{Key: httplimit.RemoteIP, Unavailable: primitives.Admit()})
//	if err != nil {
//		return err
//	}
//	http.Handle("/api/", limit.Handler(api))
//
// Each request takes one permit, or as many as Cost returns, in one round trip to the server. Requests for which Key
// returns the same text share the permits of one limiter. With a RateLimiter, in any window of one interval, whenever it
// begins, no more permits are taken than the rate has. With a Throttle it may be one burst more.
//
// # Responses
//
// The handler adds the header fields of the IETF's draft-ietf-httpapi-ratelimit-headers-11:
//
//   - RateLimit-Policy, to each response: "api";q=100;w=60 is 100 requests in 60 seconds. If the interval is
//     not in whole seconds, w is missing: the draft knows no fractions.
//   - RateLimit, to each refusal, and to each other response about which the server has decided: "api";r=42 says
//     that 42 permits are free now, and "api";r=0;t=7 that none is, for the next 7 seconds. If a request takes more
//     than one permit, t is the time until as many are free. With a Throttle r may be up to the burst.
//
// A refused request gets status 429, Retry-After in seconds, rounded up, and the draft's problem type
// quota-exceeded as application/problem+json.
//
// # Several limits
//
// [NewMultiThrottle] has several policies, such as 10 requests a second for a user, 1 000 a minute for a tenant and
// 100 000 a day for all. A request takes permits of all or of none, in one round trip. Each policy has its own element
// in the two fields. The policy that refuses for the longest time sets Retry-After, and is the first of the problem's
// violated-policies.
//
// Limits by RateLimiter are nested handlers: each adds an element to the two fields. A request that the inner one
// refuses has used a permit of the outer one. So the one with the short interval goes outside,
// minute.Handler(day.Handler(api)): otherwise a client that repeats refused requests uses up its day by them.
//
// # Failures
//
// While the server of the limiters is away, [Options.Unavailable] says what happens to requests, and has no default.
// A request waits for the server's answer for [Options.Timeout] at most. After one that got none, the next ones do not
// wait: [primitives.Fallback] has the details. After a lost answer the request may have used a permit.
//
// For a request about which nothing is decided otherwise, as if the limiter's key has data of another program,
// [Options.OnError] receives the error. With Admit such a request is served, otherwise it gets status 503.
package httplimit
