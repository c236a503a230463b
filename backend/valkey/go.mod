module github.com/hasp-go/hasp/backend/valkey

go 1.25.0

require (
	github.com/hasp-go/hasp v0.0.0
	github.com/stretchr/testify v1.8.1
	github.com/valkey-io/valkey-go v1.0.67
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	go.uber.org/zap v1.26.0 // indirect
	golang.org/x/sys v0.31.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/hasp-go/hasp => ../..
