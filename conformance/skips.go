package conformance

// Why a case cannot run with a harness: what [Report.Reasons] returns. A test asserts those that it
// expects.
const (
	SkipNoPubSub        = "the backend has no pub/sub"
	SkipPubSub          = "the backend has pub/sub"
	SkipUnsharded       = "channels do not move with slots"
	SkipNoCluster       = "the server is not a cluster"
	SkipCluster         = "the server is a cluster"
	SkipNoBatches       = "the backend does not batch"
	SkipNoReplicaWaiter = "the backend does not wait for replicas"
	SkipNoClient        = "the backend has no client below it"
	SkipNoClientList    = "the server does not list its clients"
	SkipNoDebug         = "the server does not allow DEBUG"
	SkipFixedRoles      = "the roles of servers are not the suite's to change"
	SkipNoFaults        = "the harness cannot disturb connections"
	SkipNoRecord        = "the harness cannot record commands"
	SkipNoRestart       = "the harness cannot restart the server"
	SkipNoPause         = "the harness cannot stop the server"
	SkipNoFailOver      = "the harness cannot fail over"
	SkipNoIsolate       = "the harness cannot isolate a primary"
	SkipNoMigrate       = "the harness cannot migrate a slot"
	SkipNoAdvance       = "the harness cannot move the server's clock"
)
