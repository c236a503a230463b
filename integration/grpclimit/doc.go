// Package grpclimit limits how often the clients of a gRPC service send calls, over all processes of the service. It has
// interceptors over [primitives.Throttle]:
//
//	limit, err := grpclimit.NewThrottle(client, "api", primitives.Limit{Permits: 100, Interval: time.Minute, Burst: 10},
//		&grpclimit.Options{Key: user, Unavailable: primitives.Admit()})
//	if err != nil {
//		return err
//	}
//	server := grpc.NewServer(grpc.UnaryInterceptor(limit.Unary), grpc.StreamInterceptor(limit.Stream))
//
// Each call takes one permit, or as many as Cost returns, in one round trip to the limiters' server. A stream takes its
// permits when it begins, and its messages take none. Calls for which Key returns the same text share the permits of one
// throttle. [NewMultiThrottle] has several limits, such as one for a user and one for all.
//
// # Refusals
//
// A refused call ends with the code ResourceExhausted. Its details have a google.rpc.RetryInfo, whose delay is the time
// until enough permits are free. A call that costs more than the burst gets the code without a RetryInfo.
//
// # Failures
//
// While the server of the limiters is away, [Options.Unavailable] says what happens to calls, and has no default. A
// call waits for an answer for [Options.Timeout] at most. After one that got none, the next ones do not wait:
// [primitives.Fallback] has the details. After a lost answer the call may have used its permits.
//
// A call about which nothing is decided otherwise, as if the throttle's key has data of another program, is served
// with Admit, and otherwise ends with the code Unavailable. [Options.OnError] receives the error.
package grpclimit
