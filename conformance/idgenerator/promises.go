package idgenerator

// Promises are what the doc comments of package primitives say of a generator of ids.
var Promises = map[string]string{
	"IDGenerator.Unique": `No id is returned twice, to whichever caller of whichever client, also if answers are
lost and callers leave. A range without a whole block left is ErrOverflow, and what is no number ErrConflict;
both leave the keys as they were.`,

	"IDGenerator.Blocks": `A client takes a block by one script, and returns its ids in order without
another. Those who need a block at the same time take one.`,

	"IDGenerator.Wire": `The keys are Redisson's: the next id, and the size of blocks. Without TryInit ids begin at
1, in blocks of 5000. TryInit changes nothing of what is set.`,
}
