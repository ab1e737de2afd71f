import { Module, type DynamicModule } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { McpEdge, createMcpEdge, type McpEdgeOptions } from './edge.js';

/** Gives `McpEdge` to whoever mounts or serves it. Takes the buses of the application's one `CqrsModule.forRoot()`, which is global. */
@Module({})
export class McpModule {
  static forRoot(options: Omit<McpEdgeOptions, 'buses'>): DynamicModule {
    return {
      module: McpModule,
      global: true,
      providers: [
        {
          provide: McpEdge,
          inject: [CommandBus, QueryBus],
          useFactory: (commands: CommandBus, queries: QueryBus) =>
            createMcpEdge({ ...options, buses: { commands, queries } }),
        },
      ],
      exports: [McpEdge],
    };
  }
}
