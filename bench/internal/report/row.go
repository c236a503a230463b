package report

import "fmt"

// Row is what one subject's turns came to. A subject of each row of a group had the same number of turns,
// and the turns of one index followed each other.
type Row struct {
	Workload string  `json:"workload"`
	Subject  string  `json:"subject"`
	Backend  string  `json:"backend"`
	Server   string  `json:"server"`
	Size     int     `json:"size"`    // goroutines, clients, permits, waiters or leases: the workload says which
	LinkMS   float64 `json:"link_ms"` // of delay, in each direction

	// Values has one value a turn, by unit.
	Values map[string][]float64 `json:"values"`
}

// Percentiles of waits are noted, by the units that Percentile returns.
var Percentiles = []int{10, 25, 50, 75, 90, 99}

// Percentile returns the unit of a percentile of the waits.
func Percentile(percent int) string { return fmt.Sprintf("p%d-us", percent) }
