// Package idempotency compares httpidem with other middleware for the header field Idempotency-Key, and has httpidem before
// the routers that people use. docs/comparison.md and docs/integrations.md have the results.
package idempotency
