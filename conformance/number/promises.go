package number

// Promises are what the doc comments of package primitives say of atomic numbers.
var Promises = map[string]string{
	"Atomic.Exact": `A number is exact over the range of its type. One that does not exist is 0.`,

	"Atomic.Errors": `A sum beyond the range is ErrOverflow and a key that holds something else
ErrConflict, which names both kinds; both leave the key as it was. A change whose outcome is unknown
is made at most once.`,

	"Atomic.Life": `What depends on the number keeps the end of its life; Store and Swap do not.`,

	"Atomic.RoundTrip": `Each call takes one round trip, by a plain command where there is one.`,
}
