package adder

// Promises are what the doc comments of package primitives say of adders.
var Promises = map[string]string{
	"Adder.Sum": `A sum has what was added before it was asked for, on any client, to adders that are open,
and nothing that is added after it has returned. It changes nothing. One beyond the range is ErrOverflow.`,

	"Adder.Reset": `When Reset has returned, what was added before is in no later sum.`,

	"Adder.OneReceiver": `The adders of one name over one backend share a subscription, and answer a request
once, with the sum of what they have counted. What a closed one has counted is gone.`,

	"Adder.Answers": `Sum and Reset wait until as many have answered as have got the request. If the context
ends before, an UnansweredError says how many have; the keys of the request end by themselves. Who asks while
its link is being restored counts itself.`,

	"Adder.Wire": `The channel, the requests and the keys are Redisson's.`,
}
