package limiter

// Promises are what the doc comments of package primitives say of a rate limiter.
var Promises = map[string]string{
	"RateLimiter.Rate": `The permits that are granted in any window of one interval are never more than its rate
has, but for those that were released: over changes of the rate, clients that come and go, and a server's clock that
is set back. They come back by themselves, and none is lost for longer.`,

	"RateLimiter.Waiting": `A waiter goes on when enough permits are free, and no later than the server said, a poll
apart. A release, a change of the rate and a deletion wake those who wait. One who needs many permits holds up
none who needs few.`,

	"RateLimiter.Refusals": `A refusal changes nothing, and says when there are enough permits. More permits than an
interval has, and a limiter without a rate, are errors at once, also of those who wait already.`,

	"RateLimiter.Life": `A limiter is made by TrySetRate, SetRate, or the first who acquires with the option Rate. With
KeepAlive it ends when nobody has asked it for so long, and its keys with it. Those of one client's own permits end
with its grants.`,

	"RateLimiter.Wire": `The keys, the fields of the hash and the members of the sorted set are Redisson's. What other
programs have granted counts.`,
}
