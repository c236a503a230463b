package contract

// Clause returns the text of a clause of package backend's contract, such as "R3"; "" if there is none.
func Clause(number string) string { return clauses[number] }

// clauses repeats the contract, for the messages of failing cases; a test compares the two.
var clauses = map[string]string{
	"R1": `The script must run atomically, on the node that owns its keys. If the keys hash to
different slots of a cluster, Run must return [ErrCrossSlot] and send nothing; it must never panic.
A client that shards keys over independent servers by itself must be refused when the backend is
made.`,
	"R2": `The script must be sent by its hash. If the server does not know it (after a restart, a
failover, SCRIPT FLUSH, on a new node) the backend must load it with SCRIPT LOAD on that node and
send the hash again, unseen by the caller; it must not use EVAL. If the hash is unknown again after
loading, as while a slot moves, the script is loaded on every primary. Loads are bounded: after that
the NOSCRIPT error is returned, which then wraps [ErrUnavailable]: calls and loads reach different
servers, as for a moment in a failover.`,
	"R3": `A script whose class is not [RetryReadOnly] must be sent at most once after it might have been
executed. Only an error reply for which [NotExecuted] is true, a failed dial, or a driver's error
raised before writing proves that it was not; then the backend may send it again while ctx lasts. In
every other case without a reply (EOF, reset, time-out, cancellation, closing) the error must wrap
[ErrIndeterminate], and ctx's error too if ctx ended. A script of class [RetryRepeatable] may be sent
again also then. After any other error reply the script may have run, and what it wrote stands. If
the script certainly wrote nothing because no server could be reached, or none that would take it, the
error must wrap [ErrUnavailable], and never [ErrIndeterminate] as well.`,
	"R4": `Keys, arguments and string replies are byte strings, of any length and content. Integer
replies are int64, exact to 2^53 from a script (it returns text beyond), over the whole range from a
plain command (R10). Run must return its own call's reply, also after a call that was cancelled
before its reply came.`,
	"R5": `RESP2 and RESP3 must give the same [Reply]: nil, int64, string or array; a status is a
string. Scripts do not return types that only RESP3 has.`,
	"R6": `A server's error reply must be a [*ServerError], found by errors.As.`,
	"R7": `When ctx ends, Run must return promptly, short of a full queue in the driver or of a
connection that the driver is setting up within a bound of its own, with an error that wraps ctx's.
If the script was handed to the driver and may write, it may still be executed later, at most once,
and the error wraps [ErrIndeterminate]. A reply that arrives in that instant may be lost. If ctx had
ended before the call, nothing is sent. Where no server can be reached, Run must give up within a
bound of its own, however long ctx lasts.`,
	"R8": `A script of class [RetryReadOnly] should be sent as EVALSHA_RO where the server knows it, may
be sent again within bounds, and must always run on the primary, even if the client is configured to
read from replicas: a replica's stale answer would park a waiter for ever.`,
	"R9": `No goroutine, connection or subscription may outlive Close, except a call in flight,
until the driver's I/O timeout. After Close, of the backend or of its client, Run must return
[ErrClosed] and send nothing.`,
	"R10": `If script.Command is set, the backend must send that command with the keys and then the
arguments, instead of the script, with the same reply and under the same clauses.`,
	"S1": `Subscribe must return only after the server acknowledged the subscription. What is
published after that must be delivered, in order, or be covered by an [EventResubscribed] event (messages
lost on a cluster's own bus excepted). If ctx ends first, Subscribe returns an error that wraps
ctx's, and no subscription is left. ctx does not bound the subscription.`,
	"S2": `After any gap (reconnect, failover, slot migration, dropped messages) the handler must
get an [EventResubscribed] event, after the server acknowledged the new subscription. A link gone silent
is a gap, and must be noticed within 15 s with default options. The backend re-subscribes, not the
driver. A silent gap is the worst defect that a backend can have: it hangs its users.`,
	"S3": `Subscriptions must share one connection per node, which is the backend's own, never one
that the application uses. A slow handler must not delay other subscriptions.`,
	"S4": `In a cluster the adapter's option chooses SSUBSCRIBE (on), SUBSCRIBE (off), or the first
where the server knows it (auto). [Capabilities.Publish] names the command that reaches it.`,
	"S5": `Cancel and Close must release the server-side subscription.`,
	"S6": `Ending one subscription must neither end nor gap another on the same channel, one that is
just being made included.`,
	"B1": `Each outcome must be that call's own, under the clauses of Run, and must be reported
once, as soon as it is known: a call that fails, that is sent again, or whose node is slow or silent
must not hold up another. After a broken connection, replies that had already arrived may be
reported as indeterminate too.`,
	"B2": `A call's Claim is taken when RunBatch gets it. While the backend knows that the call was
not executed, as between two tries or before it is written, it should return the claim, and then
must take it again before it sends the call. A call whose claim cannot be taken must not be sent,
and may be reported with any error.`,
	"W1": `The calls of one node go over one connection, followed by one WAIT on it, and no redirect is
followed between them. If a script ran and the waiting failed, its outcome has the reply, and an
error that wraps [ErrReplicas], and [ErrNotSupported] too if the server does not know WAIT. Acked
may be smaller or larger than replicas; deciding is the caller's.`,
}
