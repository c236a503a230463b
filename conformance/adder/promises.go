package adder

// Promises are those of the doc comments of package primitives.
var Promises = map[string]string{
	"Adder.Sum": `A sum has all additions from before the call, on any client, to adders that are open, and no addition
from after its return. It changes nothing. A sum beyond the range is ErrOverflow.`,

	"Adder.Reset": `When Reset has returned, no later sum has an addition from before the call.`,

	"Adder.OneReceiver": `The adders of one name over one backend share a subscription, and answer a request
once, with the sum of their counts. The count of a closed adder is gone.`,

	"Adder.Answers": `Sum and Reset wait until each receiver of the request has answered. After a minute, or at the
end of the context, an UnansweredError says how many have; the keys of the request end by themselves. A client that asks while its link is
being restored counts itself.`,

	"Adder.Wire": `The channel, the requests and the keys are Redisson's.`,
}
