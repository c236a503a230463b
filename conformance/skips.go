package conformance

import "github.com/hasp-go/hasp/conformance/harness"

// Why a case cannot run with a harness: what [Report.Reasons] returns. A test asserts those that it
// expects.
const (
	SkipNoPubSub        = harness.SkipNoPubSub
	SkipPubSub          = harness.SkipPubSub
	SkipUnsharded       = harness.SkipUnsharded
	SkipNoCluster       = harness.SkipNoCluster
	SkipCluster         = harness.SkipCluster
	SkipNoBatches       = harness.SkipNoBatches
	SkipNoReplicaWaiter = harness.SkipNoReplicaWaiter
	SkipNoClient        = harness.SkipNoClient
	SkipNoClientList    = harness.SkipNoClientList
	SkipNoDebug         = harness.SkipNoDebug
	SkipFixedRoles      = harness.SkipFixedRoles
	SkipNoFaults        = harness.SkipNoFaults
	SkipNoRecord        = harness.SkipNoRecord
	SkipNoRestart       = harness.SkipNoRestart
	SkipNoPause         = harness.SkipNoPause
	SkipNoFailOver      = harness.SkipNoFailOver
	SkipNoIsolate       = harness.SkipNoIsolate
	SkipNoMigrate       = harness.SkipNoMigrate
	SkipNoAdvance       = harness.SkipNoAdvance
)
