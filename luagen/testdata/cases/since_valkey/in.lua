---@key counter string
---@since valkey 8.0
return server.call('get', counter)
