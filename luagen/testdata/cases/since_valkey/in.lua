---@key counter string
---@readonly
---@since valkey 8.0
return server.call('get', counter)
