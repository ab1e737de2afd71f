import { Module, type DynamicModule } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { McpEdge, createMcpEdge, type McpEdgeOptions } from './edge.js';
import type { SpendState } from './request-state.js';
import type { Buses } from './tool.js';

export interface McpModuleOptions extends Omit<McpEdgeOptions, 'buses' | 'requestState'> {
  readonly requestStateSecret: Uint8Array;
  /** Puts the message that spends a request state on a bus: the context that keeps them is not known here. */
  readonly spend: (buses: Buses) => SpendState;
}

/** Gives `McpEdge` to whoever mounts or serves it. Takes the buses of the application's one `CqrsModule.forRoot()`, which is global. */
@Module({})
export class McpModule {
  static forRoot({ requestStateSecret, spend, ...options }: McpModuleOptions): DynamicModule {
    const edge = (commands: CommandBus, queries: QueryBus): McpEdge => {
      const buses = { commands, queries };
      const requestState = { secret: requestStateSecret, spend: spend(buses) };
      return createMcpEdge({ ...options, buses, requestState });
    };
    return {
      module: McpModule,
      global: true,
      providers: [{ provide: McpEdge, inject: [CommandBus, QueryBus], useFactory: edge }],
      exports: [McpEdge],
    };
  }
}
