// Package bench measures what the primitives cost above their driver. It holds benchmarks only:
//
//	go test -bench . ./bench
//
// Most compare, in one run and in turns, a primitive with the driver's own bare commands for the
// same scripts: ratios hold on a noisy machine where times do not. BenchmarkOverhead has no driver.
package bench
