--- Returns times with bounds: one without a minimum is not negative.
---@key left string
---@arg least seconds(-5..60)
---@return seconds(..60) up
---@return seconds(-5..) down
---@readonly
return { tonumber(redis.call('get', left) or 0), least }
