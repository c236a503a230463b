package harness

import "context"

// Why a case cannot run with a harness. A test asserts those that it expects.
const (
	SkipNoPubSub        = "the backend has no pub/sub"
	SkipNoMessages      = "the primitive has no messages"
	SkipPubSub          = "the backend has pub/sub"
	SkipUnsharded       = "channels do not move with slots"
	SkipNoCluster       = "the server is not a cluster"
	SkipCluster         = "the server is a cluster"
	SkipNoBatches       = "the backend does not batch"
	SkipNoReplicaWaiter = "the backend does not wait for replicas"
	SkipNoScanner       = "the backend does not list keys"
	SkipNoClient        = "the backend has no client below it"
	SkipNoClientList    = "the server does not list its clients"
	SkipNoDebug         = "the server does not allow DEBUG"
	SkipFixedRoles      = "the roles of servers are not the suite's to change"
	SkipNoFaults        = "the harness cannot disturb connections"
	SkipNoRestart       = "the harness cannot restart the server"
	SkipNoPause         = "the harness cannot stop the server"
	SkipNoFailOver      = "the harness cannot fail over"
	SkipNoIsolate       = "the harness cannot isolate a primary"
	SkipNoMigrate       = "the harness cannot migrate a slot"
	SkipNoAdvance       = "the harness cannot move the server's clock"
	SkipRandom          = "-short leaves out what runs at random in real time"
	SkipShared          = "-short leaves it to the first primitive that shares what it judges"
)

// Need returns why h lacks something; "" if it has it.
type Need func(h *Harness) string

// What cases need.
var (
	PubSub        = needs(SkipNoPubSub, func(h *Harness) bool { return h.Capabilities.PubSub })
	NoPubSub      = needs(SkipPubSub, func(h *Harness) bool { return !h.Capabilities.PubSub })
	Sharded       = needs(SkipUnsharded, func(h *Harness) bool { return h.Capabilities.PubSub && h.Capabilities.Sharded })
	Cluster       = needs(SkipNoCluster, func(h *Harness) bool { return h.Capabilities.Cluster })
	OneNode       = needs(SkipCluster, func(h *Harness) bool { return !h.Capabilities.Cluster && !h.OneEndpoint })
	Batches       = needs(SkipNoBatches, func(h *Harness) bool { return h.Batches })
	ReplicaWaiter = needs(SkipNoReplicaWaiter, func(h *Harness) bool { return h.WaitsForReplicas })
	Scans         = needs(SkipNoScanner, func(h *Harness) bool { return h.Scans })
	ClientList    = needs(SkipNoClientList, func(h *Harness) bool { return h.ListsClients })
	Debug         = needs(SkipNoDebug, func(h *Harness) bool {
		_, err := h.Do(context.Background(), "", "DEBUG", "HELP")
		return err == nil
	})
	Restart    = needs(SkipNoRestart, func(h *Harness) bool { return h.Restart != nil })
	Pause      = needs(SkipNoPause, func(h *Harness) bool { return h.Pause != nil })
	FailOver   = needs(SkipNoFailOver, func(h *Harness) bool { return h.FailOver != nil })
	FixedRoles = needs(SkipFixedRoles, func(h *Harness) bool { return h.FailOver == nil })
	Isolate    = needs(SkipNoIsolate, func(h *Harness) bool { return h.Isolate != nil })
	Migrate    = needs(SkipNoMigrate, func(h *Harness) bool { return h.Migrate != nil })
	Advance    = needs(SkipNoAdvance, func(h *Harness) bool { return h.Advance != nil })
	Faults     = needs(SkipNoFaults, func(h *Harness) bool { return h.Faults })
	HasClient  = needs(SkipNoClient, func(h *Harness) bool { return !h.NoClient })
)

func needs(reason string, has func(h *Harness) bool) Need {
	return func(h *Harness) string {
		if has(h) {
			return ""
		}
		return reason
	}
}
