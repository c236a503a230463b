module github.com/hasp-go/hasp/conformance/matrix

go 1.25.0

require (
	github.com/hasp-go/hasp v0.0.0
	github.com/hasp-go/hasp/backend/embedded v0.0.0
	github.com/hasp-go/hasp/backend/goredis v0.0.0
	github.com/hasp-go/hasp/backend/rueidis v0.0.0
	github.com/hasp-go/hasp/backend/valkey v0.0.0
	github.com/hasp-go/hasp/conformance v0.0.0
)

replace (
	github.com/hasp-go/hasp => ../..
	github.com/hasp-go/hasp/backend/embedded => ../../backend/embedded
	github.com/hasp-go/hasp/backend/goredis => ../../backend/goredis
	github.com/hasp-go/hasp/backend/rueidis => ../../backend/rueidis
	github.com/hasp-go/hasp/backend/valkey => ../../backend/valkey
	github.com/hasp-go/hasp/conformance => ..
)
